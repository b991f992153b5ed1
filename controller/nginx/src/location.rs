//! One path rule: what nginx does with its requests before and after the filter has chosen a pod.

use askama::Template;
use sluice_ir::{
    Access, Action, BackendId, Config, Location, PathMatch, PathRegex, RetryOn, ServerName, Timeouts,
    UpstreamTls,
};

use crate::conf::{Text, Value, Word, value, word};
use crate::cors::{self, CorsConf};
use crate::expression::template;
use crate::redirect::{self, Answer};
use crate::told::{self, Clients, Line};
use crate::{unserved, upstream};

/// `location {}`.
#[derive(Template)]
#[template(path = "location.conf")]
pub(crate) struct LocationConf {
    /// nginx's sign for the kind of match, with a blank after it.
    sign: &'static str,
    path: Word,
    id: Value,
    content: Content,
}

/// What a location does.
enum Content {
    Denied,
    Redirect(Answer),
    Forward(Box<Forward>),
}

struct Forward {
    access: Access,
    cors: Option<CorsConf>,
    https: Option<Answer>,
    rewrite: Option<(Word, Value)>,
    connect: u32,
    timeouts: Timeouts,
    next: String,
    tries: u8,
    /// Bytes, where the edge says something else; 0 is no limit.
    body: Option<u64>,
    pods: Vec<Line>,
    clients: Option<Clients>,
    tls: Option<Tls>,
    upstream: String,
}

struct Tls {
    v1_2: bool,
    v1_3: bool,
    server_name: Option<Word>,
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
fn pattern(regex: &PathRegex) -> String {
    format!("^{}", regex.pattern)
}

impl LocationConf {
    /// `None` when nginx could not read it.
    pub(crate) fn new(
        (sign, path): (&'static str, &str),
        location: &Location,
        server: &ServerName,
        config: &Config,
        is_closed: bool,
    ) -> Option<Self> {
        let content = match &location.action {
            _ if is_closed => Content::Denied,
            Action::Denied => Content::Denied,
            Action::Redirect(redirect) => Content::Redirect(redirect::answer(redirect)),
            Action::Forward(id) => Content::Forward(Box::new(forward(location, id, server, config))),
        };
        let made = LocationConf { sign, path: word(path), id: value(location.id.as_str()), content };
        made.fits().then_some(made)
    }

    fn fits(&self) -> bool {
        let content = match &self.content {
            Content::Denied => true,
            Content::Redirect(answer) => answer.to.0.fits(),
            Content::Forward(forward) => forward.fits(),
        };
        content && self.path.0.fits() && self.id.0.fits()
    }
}

impl Forward {
    fn fits(&self) -> bool {
        let rewrite = self.rewrite.iter().flat_map(|(from, to)| [from, to]);
        let clients = self.clients.iter().flat_map(|clients| &clients.lines);
        let lines = self.pods.iter().chain(clients).flat_map(|(name, value)| [name, value]);
        let cors = self
            .cors
            .iter()
            .flat_map(|cors| cors.origins.iter().chain(cors.variables.iter().map(|(_, value)| value)));
        let tls = self.tls.iter().filter_map(|tls| tls.server_name.as_ref());
        rewrite.chain(lines).chain(cors).chain(tls).all(|word| word.0.fits())
    }
}

fn forward(location: &Location, id: &BackendId, server: &ServerName, config: &Config) -> Forward {
    let (policy, edge) = (&location.policy, &config.edge);
    let transport = unserved::transport(id, config);
    let rewrite = match (&location.path, &location.rewrite) {
        (PathMatch::Regex(regex), Some(to)) => {
            let from = word(format!("(?i){}", pattern(regex)));
            Some((from, template(Text::default(), to).quoted()))
        }
        // Without a pattern there is nothing to take groups from.
        _ => None,
    };
    let has_own_body = policy.largest_body != edge.largest_body;
    Forward {
        access: policy.access.clone(),
        cors: policy.cors.as_ref().and_then(cors::conf),
        https: location.https.as_ref().map(|https| redirect::to_https(https, server)),
        rewrite,
        connect: transport.connect_timeout,
        timeouts: policy.timeouts,
        next: next(&policy.retries.on),
        tries: policy.retries.attempts.get(),
        body: has_own_body.then(|| policy.largest_body.unwrap_or_default()),
        pods: told::pods_of(location, edge),
        clients: Clients::of(location, edge),
        upstream: upstream::name(&transport, config),
        tls: transport.tls.as_ref().map(tls),
    }
}

fn tls(tls: &UpstreamTls) -> Tls {
    let server_name = tls.server_name.as_ref().map(word);
    Tls { v1_2: tls.versions.v1_2, v1_3: tls.versions.v1_3, server_name }
}

fn next(on: &RetryOn) -> String {
    let words = [
        (on.error, "error"),
        (on.timeout, "timeout"),
        (on.invalid_header, "invalid_header"),
        (on.non_idempotent, "non_idempotent"),
    ];
    let mut words: Vec<String> =
        words.into_iter().filter(|(is_on, _)| *is_on).map(|(_, word)| word.to_owned()).collect();
    words.extend(on.statuses.iter().map(|status| format!("http_{status}")));
    if words.is_empty() { "off".to_owned() } else { words.join(" ") }
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

    #[test]
    fn what_is_tried_again_has_nginxs_words() {
        assert_eq!(next(&RetryOn::default()), "error timeout");
        assert_eq!(next(&RetryOn::never()), "off");
        let on = RetryOn { statuses: [502, 503].into(), non_idempotent: true, ..RetryOn::never() };
        assert_eq!(next(&on), "non_idempotent http_502 http_503");
    }
}
