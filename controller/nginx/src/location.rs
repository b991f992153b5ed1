//! One path rule: what nginx does with its requests before and after the filter has chosen a pod.

use askama::Template;
use sluice_ir::{Action, Location, PathMatch, PathRegex, RetryOn, ServerName, Timeouts, Transport};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression::template;
use crate::redirect::{self, Answer};

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
    https: Option<Answer>,
    rewrite: Option<(Word, Value)>,
    forwarded_prefix: Option<Value>,
    connect: u32,
    timeouts: Timeouts,
    next: String,
    tries: u8,
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
        transport: Transport,
    ) -> Option<Self> {
        let content = match &location.action {
            Action::Denied => Content::Denied,
            Action::Redirect(redirect) => Content::Redirect(redirect::answer(redirect)),
            Action::Forward(_) => Content::Forward(Box::new(forward(location, server, transport))),
        };
        let made = LocationConf { sign, path: word(path), id: value(location.id.as_str()), content };
        made.fits().then_some(made)
    }

    fn fits(&self) -> bool {
        let fits = |word: &Value| word.0.fits();
        let content = match &self.content {
            Content::Denied => true,
            Content::Redirect(answer) => fits(&answer.to),
            Content::Forward(forward) => {
                let rewrite = forward.rewrite.iter().flat_map(|(from, to)| [from, to]);
                rewrite.chain(&forward.forwarded_prefix).all(fits)
            }
        };
        content && fits(&self.path) && fits(&self.id)
    }
}

fn forward(location: &Location, server: &ServerName, transport: Transport) -> Forward {
    let policy = &location.policy;
    let rewrite = match (&location.path, &location.rewrite) {
        (PathMatch::Regex(regex), Some(to)) => {
            let from = word(format!("(?i){}", pattern(regex)));
            Some((from, template(Text::default(), to).quoted()))
        }
        // Without a pattern there is nothing to take groups from.
        _ => None,
    };
    Forward {
        https: location.https.as_ref().map(|https| redirect::to_https(https, server)),
        forwarded_prefix: rewrite.as_ref().and(policy.forwarded_prefix.as_ref()).map(value),
        rewrite,
        connect: transport.connect_timeout,
        timeouts: policy.timeouts,
        next: next(&policy.retries.on),
        tries: policy.retries.attempts.get(),
    }
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
