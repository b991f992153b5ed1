//! Responses of snippets.

use regex::bytes::RegexBuilder;
use sluice_ir::{Comparison, Condition, DirectResponse, HttpRoute, RequestTest, ResponseContent};

use crate::explanation::Outcome;
use crate::request::Request;
use crate::{answer, path, value};

/// The first whose conditions hold.
pub(crate) fn find(route: &HttpRoute, request: &Request) -> Option<Outcome> {
    let mut responses = route.direct_responses.iter();
    responses.find_map(|response| answered(response, request))
}

fn answered(response: &DirectResponse, request: &Request) -> Option<Outcome> {
    let mut conditions = response.conditions.iter();
    if !conditions.all(|condition| holds(condition, request)) {
        return None;
    }
    let redirect = |location| Outcome::Redirect {
        status: response.status,
        location,
    };
    Some(match &response.content {
        ResponseContent::Page | ResponseContent::Text { .. } => Outcome::Respond {
            status: response.status,
        },
        ResponseContent::Location(url) => redirect(value::of_expression(url, request)),
        ResponseContent::Rewritten { regex, to } => {
            let captures = path::captures(regex, request.path.as_deref()?)?;
            redirect(answer::location(to, Some(&captures), request))
        }
    })
}

fn holds(condition: &Condition, request: &Request) -> bool {
    let holds = match &condition.test {
        RequestTest::Host(host) => request.host == host.as_str(),
        RequestTest::Path(path) => request.path.as_deref() == Some(path),
        RequestTest::Cookie { name, value } => request.cookie(name).unwrap_or_default() == *value,
        RequestTest::Scheme(comparison) => compare(comparison, &request.scheme),
        RequestTest::Method(comparison) => compare(comparison, &request.method),
        RequestTest::RequestUri(comparison) => compare(comparison, &request.target),
        RequestTest::Header { name, value } => {
            let header = match name.as_str() {
                "host" => Some(request.authority()),
                name => request.header(name),
            };
            compare(value, &header.unwrap_or_default())
        }
    };
    holds != condition.negated
}

fn compare(comparison: &Comparison, text: &str) -> bool {
    let found = |pattern: &str, any_case| {
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(any_case)
            .build();
        pattern.is_ok_and(|pattern| pattern.is_match(text.as_bytes()))
    };
    match comparison {
        Comparison::Equals(equal) => text == equal,
        Comparison::Matches(pattern) => found(pattern, false),
        Comparison::MatchesIgnoreCase(pattern) => found(pattern, true),
    }
}
