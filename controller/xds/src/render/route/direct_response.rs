//! Direct responses of a route: an Envoy route for each, which only some requests match.

use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{DataSource, SubstitutionFormatString};
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, HeaderMatcher, Route};
use envoy_types::pb::google::protobuf::Struct;
use sluice_ir::{
    Comparison, Condition, DirectResponse, Expression, Filter, GlobalConfig, HttpRoute,
    RequestTest, ResponseContent, ServerName,
};
use sluice_pattern::{Subject, TargetPart, escape};

use super::matching::{PORT, PROTO, is, matches, no, only_for};
use super::redirect::{self, to_url};
use super::rewrite;
use crate::render::format::format;
use crate::render::forwarded;
use crate::render::header::{self, set};
use crate::render::local_reply::TEXT_METADATA;
use crate::render::policy;

/// Status of what cannot be compared.
const CLOSED: u16 = 503;

/// Those before the answer to a preflight, and those behind it. `route` takes what the HTTP route takes, and does nothing yet.
pub(super) fn routes(
    route: &Route,
    http_route: &HttpRoute,
    around: (&ServerName, &GlobalConfig),
) -> (Vec<Route>, Vec<Route>) {
    let (first, others): (Vec<_>, Vec<_>) = http_route
        .direct_responses
        .iter()
        .partition(|direct| direct.precedes_preflight);
    let routes = |all: Vec<&DirectResponse>| {
        let all = all.into_iter();
        all.map(|direct| {
            let mut answer = self::route(route, direct, &http_route.filters, around);
            let chain = policy::of_replaced(direct, http_route, around.1);
            answer.typed_per_filter_config.extend(chain);
            answer
        })
        .collect()
    };
    (routes(first), routes(others))
}

/// `route` with one of them. `filters`: of responses that change no headers of their own.
pub(super) fn route(
    route: &Route,
    direct: &DirectResponse,
    filters: &[Filter],
    (server, global): (&ServerName, &GlobalConfig),
) -> Route {
    let mut route = route.clone();
    match &direct.headers {
        Some(own) => {
            let own = Filter::ResponseHeaders(own.clone());
            header::modify_response(&mut route, global, || std::iter::once(&own));
        }
        None => header::modify_response(&mut route, global, || filters.iter()),
    }
    answering(&route, direct, server)
}

fn answering(route: &Route, direct: &DirectResponse, server: &ServerName) -> Route {
    let answer = match &direct.content {
        ResponseContent::Rewritten { regex, to } => {
            match rewrite::paths_of_both(route.r#match.as_ref(), regex) {
                Some(matches) => Route {
                    r#match: Some(matches),
                    ..redirect::to_parts(route, direct.status, to, regex)
                },
                // Translation lets none through. It may lead away from what others must not see.
                None => with_body(route, CLOSED, None),
            }
        }
        ResponseContent::Location(url) => {
            to_url(route, direct.status, &redirect::format_url(url, server))
        }
        ResponseContent::Captured(captured) => {
            let redirect = redirect::to_captured(route, direct.status, captured, server);
            matcher(&captured.condition())
                .into_iter()
                .fold(redirect, only_for)
        }
        ResponseContent::Page => with_body(route, direct.status, None),
        ResponseContent::Text { media_type, text } => {
            let text = redirect::without_port(text, server);
            let mut answer = with_body(route, direct.status, Some(&text));
            let content_type = set("content-type", &header::literal(media_type));
            answer.response_headers_to_add.push(content_type);
            let metadata = answer.metadata.get_or_insert_default();
            let text = (TEXT_METADATA.to_owned(), Struct::default());
            metadata.filter_metadata.extend([text]);
            answer
        }
    };
    let matchers = direct.conditions.iter().map(matcher);
    match matchers.collect::<Option<Vec<_>>>() {
        Some(all) => all.into_iter().fold(answer, only_for),
        None => with_body(route, CLOSED, None),
    }
}

/// Routes for the requests that conditions hold for. `None`: they cannot be compared.
pub(super) fn only_where(routes: Vec<Route>, conditions: &[Condition]) -> Option<Vec<Route>> {
    let matchers: Option<Vec<_>> = conditions.iter().map(matcher).collect();
    let matchers = matchers?;
    let narrowed = |route| matchers.iter().cloned().fold(route, only_for);
    Some(routes.into_iter().map(narrowed).collect())
}

/// A response to be read to its end without a body: Envoy would send one behind it, where clients read the next response.
const WITHOUT_BODY: [u16; 2] = [204, 304];

fn with_body(route: &Route, status: u16, text: Option<&Expression>) -> Route {
    let text = text.filter(|_| !WITHOUT_BODY.contains(&status));
    let inline = |text: String| DataSource {
        specifier: Some(Specifier::InlineString(text)),
        ..DataSource::default()
    };
    let literal = text.and_then(Expression::as_literal);
    let with_variables = text.filter(|_| literal.is_none());
    let body_format = with_variables.map(|text| SubstitutionFormatString {
        format: Some(Format::TextFormatSource(inline(format(text)))),
        omit_empty_values: true,
        ..SubstitutionFormatString::default()
    });
    let response = DirectResponseAction {
        status: status.into(),
        body: literal.map(|text| inline(text.to_owned())),
        body_format,
    };
    let mut route = Route {
        action: Some(Action::DirectResponse(response)),
        ..route.clone()
    };
    // Envoy adds it to those, whoever answers.
    if status == 201 || (300..400).contains(&status) {
        route.response_headers_to_remove.push("location".to_owned());
    }
    route
}

/// `None`: there is none for it.
fn matcher(condition: &Condition) -> Option<HeaderMatcher> {
    let matcher = match &condition.test {
        RequestTest::Host(comparison) if condition.negated => part(TargetPart::Host, comparison),
        RequestTest::Host(comparison) => of_host(comparison),
        RequestTest::Path(Comparison::Equals(path)) => {
            let path = escape(&sluice_pattern::encoded_path(path));
            matches(":path", &format!(r"{path}(?:\?(?s:.*))?"))
        }
        RequestTest::Path(comparison) => part(TargetPart::Path, comparison),
        RequestTest::Query(comparison) => part(TargetPart::Query, comparison),
        RequestTest::Argument { name, value } => part(TargetPart::Argument(name), value),
        RequestTest::Cookie { name, value } => cookie(name, value),
        RequestTest::RemoteAddress(_) => return None,
        RequestTest::Scheme(comparison) => compared(PROTO, comparison),
        // As it is written, where whoever has another one is kept out.
        RequestTest::Method(comparison) if condition.negated => compared(":method", comparison),
        RequestTest::Method(comparison) => compared(":method", &in_any_case(comparison)),
        RequestTest::RequestUri(comparison) => compared(":path", comparison),
        RequestTest::Header { name, value } => {
            let name = name.as_str().to_ascii_lowercase();
            compared(&forwarded::compared(&name), value)
        }
    };
    Some(match condition.negated {
        true => negated(matcher),
        false => matcher,
    })
}

/// nginx answers a host with 400 that is empty, has a part that is, or has a bracket; or knows it as an address of IPv6, in which
/// Envoy finds no pattern. The condition holds for all of these, so that nothing gets past what it leads to.
fn of_host(comparison: &Comparison) -> HeaderMatcher {
    const NO_NAME: &str = r"(?s:.*)(?:[\[\]]|\.\.)(?s:.*)";
    let pattern = part_pattern(TargetPart::Host, comparison);
    let pattern = format!(r"(?:{pattern}|\.?{PORT}|{NO_NAME})");
    matches(":authority", &pattern)
}

/// A part of the target. Translation has seen that RE2 has words for it, and Envoy would refuse what it has not: no request
/// is taken without the condition.
fn part(part: TargetPart<'_>, comparison: &Comparison) -> HeaderMatcher {
    let header = match part {
        TargetPart::Host => ":authority",
        TargetPart::Path | TargetPart::Query | TargetPart::Argument(_) => ":path",
    };
    matches(header, &part_pattern(part, comparison))
}

fn part_pattern(part: TargetPart<'_>, comparison: &Comparison) -> String {
    let pattern = match comparison {
        Comparison::Equals(text) => sluice_pattern::re2_target_equals(part, text),
        Comparison::Matches(pattern) => sluice_pattern::re2_target(part, pattern, false),
        Comparison::MatchesIgnoreCase(pattern) => sluice_pattern::re2_target(part, pattern, true),
    };
    pattern.unwrap_or_else(|| "(".to_owned())
}

/// nginx knows no method in lower case; Envoy passes it on, and some pods take it for the one in capitals.
fn in_any_case(comparison: &Comparison) -> Comparison {
    match comparison {
        Comparison::Equals(text) => Comparison::MatchesIgnoreCase(format!("^{}$", escape(text))),
        Comparison::Matches(pattern) | Comparison::MatchesIgnoreCase(pattern) => {
            Comparison::MatchesIgnoreCase(pattern.clone())
        }
    }
}

/// Takes what a matcher does not take.
fn negated(matcher: HeaderMatcher) -> HeaderMatcher {
    HeaderMatcher {
        invert_match: !matcher.invert_match,
        ..matcher
    }
}

/// To nginx a header that is missing is empty.
fn compared(header: &str, comparison: &Comparison) -> HeaderMatcher {
    let found = |pattern, subject| matches(header, &sluice_pattern::re2(pattern, subject, false));
    let matcher = match comparison {
        Comparison::Equals(text) => is(header, text),
        Comparison::Matches(pattern) => found(pattern, Subject::Text),
        Comparison::MatchesIgnoreCase(pattern) => found(pattern, Subject::TextInAnyCase),
    };
    HeaderMatcher {
        treat_missing_header_as_empty: true,
        ..matcher
    }
}

/// nginx looks for the name in any case, and takes the first cookie that has it, without the blanks before its value.
fn cookie(name: &str, value: &str) -> HeaderMatcher {
    let before = format!("(?:{}[;,] *)*", other_than(name));
    let name = escape(name);
    if value.is_empty() {
        let any = format!("{before}(?i:{name}) *= *[^; ][^;]*(?:;(?s:.*))?");
        return no(matches("cookie", &any));
    }
    let value = escape(value);
    let has = format!("{before}(?i:{name}) *= *{value}(?:;(?s:.*))?");
    HeaderMatcher {
        treat_missing_header_as_empty: true,
        ..matches("cookie", &has)
    }
}

/// Text between two separators that is no cookie of this name: it differs in a letter, or no `=` follows. Blanks before it belong
/// to the separator.
fn other_than(name: &str) -> String {
    // Of what follows, nginx has read one letter, also where that is a separator.
    let no_equals = r" *[^= ][^;,]*".to_owned();
    let last = name.chars().count().saturating_sub(1);
    let letters = name.chars().rev().enumerate();
    letters.fold(no_equals, |rest, (position, letter)| {
        let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
        let [lower, upper] = [lower, upper].map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter.to_string(),
            letter => format!(r"\x{{{:X}}}", u32::from(letter)),
        });
        let blank = if position == last { " " } else { "" };
        format!("(?:[^;,{blank}{lower}{upper}][^;,]*|[{lower}{upper}]{rest})?")
    })
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn regex_of(matcher: &HeaderMatcher) -> (Regex, bool) {
        use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
        use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
        match matcher.header_match_specifier.clone() {
            Some(HeaderMatchSpecifier::StringMatch(text)) => match text.match_pattern {
                Some(MatchPattern::SafeRegex(regex)) => (
                    Regex::new(&format!("^(?:{})$", regex.regex)).unwrap(),
                    matcher.invert_match,
                ),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// nginx answers all of these with 400, or compares an address of IPv6: whatever a condition leads to, they do not get past it.
    #[test]
    fn a_condition_holds_for_hosts_that_are_no_names() {
        let comparisons = [
            Comparison::Matches("^x$".to_owned()),
            Comparison::MatchesIgnoreCase("internal".to_owned()),
            Comparison::Equals("never.test".to_owned()),
        ];
        for comparison in comparisons {
            let holds = |negated, host: &str| {
                let condition = Condition {
                    test: RequestTest::Host(comparison.clone()),
                    negated,
                };
                let (regex, inverted) = regex_of(&matcher(&condition).unwrap());
                regex.is_match(host) != inverted
            };
            for host in [
                "", ".", ":80", ".:80", "a..b", "[::1]", "[::1]:80", "a[b", "[a",
            ] {
                assert!(
                    holds(false, host) && holds(true, host),
                    "{comparison:?}: {host:?}"
                );
            }
            for host in [
                "a.test",
                "A.test:80",
                "a.test.",
                "x",
                "internal.test",
                "never.test",
            ] {
                assert_ne!(
                    holds(false, host),
                    holds(true, host),
                    "{comparison:?}: {host:?}"
                );
            }
        }
    }

    fn holds(name: &str, value: &str, header: &str) -> bool {
        let (regex, inverted) = regex_of(&cookie(name, value));
        regex.is_match(header) != inverted
    }

    /// As `ngx_http_parse_multi_header_lines` reads one header.
    fn first<'a>(name: &str, mut rest: &'a str) -> Option<&'a str> {
        loop {
            let start = rest.get(..name.len());
            if start.is_some_and(|start| start.eq_ignore_ascii_case(name)) {
                rest = rest[name.len()..].trim_start_matches(' ');
                let mut letters = rest.chars();
                if letters.next() == Some('=') {
                    let value = letters.as_str().trim_start_matches(' ');
                    return value.split(';').next();
                }
                rest = letters.as_str();
            }
            rest = rest[rest.find([';', ','])? + 1..].trim_start_matches(' ');
        }
    }

    #[test]
    fn a_cookie_is_the_one_that_nginx_finds() {
        let pieces = [
            "ab", "AB", "a", "abc", "=", " ", ";", ",", "1", "ab=1", "; ab=", "\t",
        ];
        let mut state = 7_usize;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for _ in 0..5000 {
            let count = next() % 7;
            let header: String = (0..count).map(|_| pieces[next() % pieces.len()]).collect();
            // HTTP takes away blanks around a value.
            let header = header.trim_matches(' ');
            let value = first("ab", header).unwrap_or_default();
            for wanted in ["1", "2", ""] {
                assert_eq!(
                    holds("ab", wanted, header),
                    value == wanted,
                    "{wanted:?} in {header:?}"
                );
            }
        }
    }

    #[test]
    fn paths_are_compared_as_envoy_has_them() {
        for (path, text) in [
            ("/private area", "/private%20area"),
            ("/größe", "/gr%C3%B6%C3%9Fe"),
            ("/a?b", "/a%3Fb"),
            ("/a%2fb", "/a%252fb"),
            ("/a.b/~c", "/a.b/~c"),
        ] {
            assert_eq!(sluice_pattern::encoded_path(path), text);
        }
    }
}
