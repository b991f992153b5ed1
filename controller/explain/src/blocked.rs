//! Clients that the operator turns away from every host.

use regex::bytes::RegexBuilder;
use sluice_ir::{Blocked, TextMatch};

use crate::request::Request;

/// True if the headers of a request are those of such a client. Its address is not known.
pub(crate) fn is_blocked(blocked: &Blocked, request: &Request) -> bool {
    let has = |name: &str, texts: &[TextMatch]| {
        let value = request.header(name).unwrap_or_default();
        texts.iter().any(|text| is_alike(text, &value))
    };
    has("user-agent", &blocked.user_agents) || has("referer", &blocked.referers)
}

fn is_alike(text: &TextMatch, value: &str) -> bool {
    let (pattern, any_case) = match text {
        TextMatch::ExactIgnoreCase(text) => return text.eq_ignore_ascii_case(value),
        TextMatch::Regex(pattern) => (pattern, false),
        TextMatch::RegexIgnoreCase(pattern) => (pattern, true),
    };
    let pattern = RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .build();
    pattern.is_ok_and(|pattern| pattern.is_match(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_blocked_by_their_headers() {
        let blocked = Blocked {
            user_agents: vec![TextMatch::RegexIgnoreCase("bot".to_owned())],
            referers: vec![TextMatch::ExactIgnoreCase("http://bad/".to_owned())],
            ..Blocked::default()
        };
        let is_blocked = |header: &str| {
            let request = Request::parse("http://a/", "GET", &[header.to_owned()]).unwrap();
            is_blocked(&blocked, &request)
        };
        assert!(is_blocked("User-Agent: a BOT") && is_blocked("referer: HTTP://bad/"));
        assert!(!is_blocked("X-A: bot") && !is_blocked("Referer: http://bad/x"));
    }
}
