//! One path rule: what nginx does with its requests before and after the filter has chosen a pod.

use askama::Template;
use sluice_ir::{Action, ClientCertificates, Demand, Location, PathMatch, PathRegex};

use crate::conf::{Value, Word, value, word};
use crate::forward::{Forward, Target};
use crate::redirect::{self, Answer};
use crate::server::{Host, Scene};

/// `location {}`.
#[derive(Template)]
#[template(path = "location.conf")]
pub(crate) struct LocationConf {
    /// nginx's sign for the kind of match, with a blank after it.
    sign: &'static str,
    path: Word,
    id: Value,
    /// Its requests are counted by its id.
    counted: bool,
    /// They are told of by this backend.
    main: Option<Value>,
    /// They are not written down where others are.
    unlogged: bool,
    /// A request without a good certificate is refused. nginx itself asks for one in handshakes only.
    certified: bool,
    content: Content,
}

/// What a location does.
enum Content {
    Denied,
    Redirect(Answer),
    Forward(Box<Forward>),
}

/// The matches that nginx needs for a path; which paths it takes is the first's and the others' together.
pub(crate) fn matches(path: &PathMatch) -> Vec<(&'static str, String)> {
    match path {
        PathMatch::Exact(path) => vec![("= ", path.clone())],
        PathMatch::Prefix(path) if path.ends_with('/') => vec![("", path.clone())],
        PathMatch::Prefix(path) => vec![("= ", path.clone()), ("", format!("{path}/"))],
        PathMatch::Regex(regex) => vec![("~* ", pattern(regex))],
    }
}

/// As ingress-nginx writes it: `^` belongs to the first alternative only.
pub(crate) fn pattern(regex: &PathRegex) -> String {
    format!("^{}", regex.pattern)
}

impl LocationConf {
    /// `None` when nginx could not read it.
    pub(crate) fn new(
        (sign, path): (&'static str, &str),
        location: &Location,
        host: Host<'_>,
        scene: Scene<'_>,
        is_closed: bool,
    ) -> Option<Self> {
        let content = match &location.action {
            _ if is_closed => Content::Denied,
            Action::Denied => Content::Denied,
            Action::Redirect(redirect) => Content::Redirect(redirect::answer(redirect)),
            Action::Forward(id) => {
                let at = format!("{sign}{path}");
                Content::Forward(Box::new(Forward::new((location, &at), id, host, scene)))
            }
        };
        let required = |clients: &ClientCertificates| clients.demand == Demand::Required;
        let certified = host.server.clients.as_ref().is_some_and(required);
        let (counted, logged) = (scene.settings.requests.is_some(), scene.logs);
        let main = (counted || logged).then(|| value(main(location)));
        let unlogged = logged && location.policy.unlogged;
        let (path, id) = (word(path), value(location.id.as_str()));
        let made = LocationConf { sign, path, id, counted, main, unlogged, certified, content };
        made.fits().then_some(made)
    }

    /// Whether nginx can read it.
    fn fits(&self) -> bool {
        let content = match &self.content {
            Content::Denied => true,
            Content::Redirect(answer) => answer.to.0.fits(),
            Content::Forward(forward) => forward.fits(),
        };
        content && self.path.0.fits() && self.id.0.fits()
    }
}

/// Whose pods are asked, if no canary's are.
fn main(location: &Location) -> &str {
    match &location.action {
        Action::Forward(id) => id.as_str(),
        Action::Denied | Action::Redirect(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_takes_whole_segments() {
        let of = |path: &str| matches(&PathMatch::Prefix(path.to_owned()));
        assert_eq!(of("/"), [("", "/".to_owned())]);
        assert_eq!(of("/foo"), [("= ", "/foo".to_owned()), ("", "/foo/".to_owned())]);
    }
}
