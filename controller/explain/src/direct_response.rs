//! Responses of snippets.

use regex::bytes::{Regex, RegexBuilder};
use sluice_ir::{
    CaptureSubject, CapturedRedirect, Comparison, Condition, DirectResponse, HttpRoute, PathRegex,
    RegexScope, RequestTest, ResponseContent,
};
use sluice_pattern::{TargetPart, re2_target, re2_target_equals};

use crate::explanation::{Answered, OperatorSnippet, Outcome};
use crate::request::Request;
use crate::value::{self, Matched};
use crate::{answer, path};

/// The first whose conditions hold, of those before or behind the answer to a preflight.
pub(crate) fn find(
    route: &HttpRoute,
    request: &Request,
    precedes_preflight: bool,
) -> Option<Answered> {
    let responses = route.direct_responses.iter();
    let mut responses = responses.filter(|it| it.precedes_preflight == precedes_preflight);
    responses.find_map(|response| {
        let source = match response.of_operator {
            true if precedes_preflight => Some(OperatorSnippet::Servers),
            true => Some(OperatorSnippet::Locations),
            // A location of the operator's has responses of its own, and those of the tenant's server.
            false => OperatorSnippet::of_route(route).filter(|_| !precedes_preflight),
        };
        Some((answered(response, request)?, source))
    })
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
            let groups = path::captures(regex, request.path.as_deref()?)?;
            redirect(answer::location(to, &Matched::by_pattern(groups), request))
        }
        ResponseContent::Captured(captured) => redirect(captured_location(captured, request)?),
    })
}

/// The URL with groups of a pattern, which has to match.
fn captured_location(captured: &CapturedRedirect, request: &Request) -> Option<String> {
    let groups = match captured.of {
        CaptureSubject::Path => {
            let (pattern, scope) = match &captured.value {
                Comparison::Equals(_) => return None,
                Comparison::Matches(pattern) => (pattern, RegexScope::Anywhere),
                Comparison::MatchesIgnoreCase(pattern) => (pattern, RegexScope::AnywhereInAnyCase),
            };
            let regex = PathRegex {
                scope,
                ..PathRegex::plain(pattern.clone())
            };
            path::captures(&regex, request.path.as_deref()?)?
        }
        CaptureSubject::RequestUri => {
            let pattern = pattern(&captured.value)?;
            pattern.captures(request.target.as_bytes())?.into()
        }
    };
    let path = request.target.split('?').next().unwrap_or_default();
    let without_port = Request {
        port: None,
        target: match captured.keeps_query {
            true => request.target.clone(),
            false => path.to_owned(),
        },
        ..request.clone()
    };
    Some(answer::location(
        &captured.to,
        &Matched::by_pattern(groups),
        &without_port,
    ))
}

fn holds(condition: &Condition, request: &Request) -> bool {
    let holds = match &condition.test {
        RequestTest::Host(comparison) => compare(comparison, &request.host),
        RequestTest::Path(comparison) => compare_path(comparison, request.path.as_deref()),
        RequestTest::Query(comparison) => compare(comparison, request.query().unwrap_or_default()),
        RequestTest::Argument { name, value } => {
            compare(value, request.argument(name).unwrap_or_default())
        }
        // Nobody knows it before the request is sent.
        RequestTest::RemoteAddress(_) => false,
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

/// As Envoy compares a canonical path.
fn compare_path(comparison: &Comparison, path: Option<&str>) -> bool {
    let written = match comparison {
        Comparison::Equals(text) => re2_target_equals(TargetPart::Path, text),
        Comparison::Matches(pattern) => re2_target(TargetPart::Path, pattern, false),
        Comparison::MatchesIgnoreCase(pattern) => re2_target(TargetPart::Path, pattern, true),
    };
    written.is_some_and(|written| path::is_whole(&written, path.unwrap_or_default()))
}

fn compare(comparison: &Comparison, text: &str) -> bool {
    match comparison {
        Comparison::Equals(equal) => text == equal,
        Comparison::Matches(_) | Comparison::MatchesIgnoreCase(_) => {
            pattern(comparison).is_some_and(|pattern| pattern.is_match(text.as_bytes()))
        }
    }
}

fn pattern(comparison: &Comparison) -> Option<Regex> {
    let (pattern, any_case) = match comparison {
        Comparison::Equals(_) => return None,
        Comparison::Matches(pattern) => (pattern, false),
        Comparison::MatchesIgnoreCase(pattern) => (pattern, true),
    };
    let pattern = RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .build();
    pattern.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_compared_by_what_it_means() {
        let matches = |pattern: &str| Comparison::Matches(pattern.to_owned());
        for (comparison, path, expected) in [
            (matches(r"\.php$"), "/a.php%0A", true),
            (matches("^/a b"), "/a%20b", true),
            (matches("^/.$"), "/%C3%A9", false),
            (Comparison::Equals("/a b".to_owned()), "/a%20b", true),
            (Comparison::MatchesIgnoreCase("^/A".to_owned()), "/a", true),
        ] {
            assert_eq!(compare_path(&comparison, Some(path)), expected, "{path}");
        }
    }
}
