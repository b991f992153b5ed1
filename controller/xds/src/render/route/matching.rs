//! Route matching.

use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::query_parameter_matcher::QueryParameterMatchSpecifier as Specifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    HeaderMatcher, QueryParameterMatcher, Route, RouteMatch,
};
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatcher, StringMatcher};
use envoy_types::pb::google::protobuf::BoolValue;
use sluice_filter_core::path;
use sluice_ir::{
    Forwarded, Hostname, PathMatch, PathRegex, QueryMatch, RegexScope, ServerName, ValueMatch,
};
use sluice_pattern::Subject;

use crate::render::client_tls;
use crate::render::patterns;
use crate::render::policy::upgrades;

/// Scheme of the client's request, from trusted headers only.
pub(super) const PROTO: &str = "x-forwarded-proto";

/// All that a route asks of a request.
pub(in crate::render) fn match_of(matches: &sluice_ir::RouteMatch) -> RouteMatch {
    let method = matches.method.iter().map(|method| is(":method", method));
    let headers = matches.headers.iter().map(|header| match &header.value {
        ValueMatch::Present => present(header.name.as_str()),
        ValueMatch::Exact(value) => is(header.name.as_str(), value),
        ValueMatch::Regex(pattern) => self::matches(header.name.as_str(), pattern),
    });
    let conditions = conditions(&matches.path);
    let said = patterns::of(&matches.path).map(patterns::is_matched);
    RouteMatch {
        headers: method
            .chain(headers)
            .chain(conditions)
            .chain(said)
            .collect(),
        query_parameters: matches.query.iter().map(query_parameter).collect(),
        ..match_of_path(&matches.path)
    }
}

/// Other patterns of the path, which Envoy compares as a header.
fn conditions(path: &PathMatch) -> impl Iterator<Item = HeaderMatcher> {
    let conditions = match path {
        PathMatch::Regex(regex) => regex.conditions.as_slice(),
        PathMatch::Exact(_) | PathMatch::Prefix(_) => &[],
    };
    conditions.iter().map(|condition| {
        // Translation has measured it. Envoy would refuse what it has not: no path may be taken without a condition.
        let pattern = sluice_pattern::re2_condition(&condition.pattern);
        HeaderMatcher {
            invert_match: condition.is_negative,
            ..self::matches(":path", pattern.as_deref().unwrap_or("("))
        }
    })
}

fn query_parameter(query: &QueryMatch) -> QueryParameterMatcher {
    let text = |pattern| {
        Specifier::StringMatch(StringMatcher {
            match_pattern: Some(pattern),
            ..StringMatcher::default()
        })
    };
    let specifier = match &query.value {
        ValueMatch::Present => Specifier::PresentMatch(true),
        ValueMatch::Exact(value) => text(MatchPattern::Exact(value.clone())),
        ValueMatch::Regex(pattern) => text(MatchPattern::SafeRegex(RegexMatcher {
            regex: pattern.clone(),
            ..RegexMatcher::default()
        })),
    };
    QueryParameterMatcher {
        name: query.name.clone(),
        query_parameter_match_specifier: Some(specifier),
    }
}

fn match_of_path(path: &PathMatch) -> RouteMatch {
    // A pattern of characters alone takes what begins like it, which costs no program.
    let text = match path {
        // The filter has compared it.
        PathMatch::Regex(regex) if regex.backtracking => {
            Some(("/".to_owned(), RegexScope::Anywhere))
        }
        PathMatch::Regex(regex) if !regex.anchored().is_empty() => {
            let text = sluice_pattern::literal(regex.anchored());
            text.map(|text| (sluice_pattern::encoded_path(&text), regex.scope))
        }
        PathMatch::Exact(_) | PathMatch::Prefix(_) | PathMatch::Regex(_) => None,
    };
    match text {
        Some((text, scope)) => RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix(text)),
            case_sensitive: Some(BoolValue {
                value: scope == RegexScope::Anywhere,
            }),
            ..RouteMatch::default()
        },
        None => RouteMatch {
            path_specifier: Some(path_specifier(path)),
            ..RouteMatch::default()
        },
    }
}

/// Envoy refuses a separated prefix that ends with a slash; a plain one then means the same.
fn path_specifier(path: &PathMatch) -> PathSpecifier {
    match path {
        PathMatch::Exact(path) => PathSpecifier::Path(decoded(path)),
        PathMatch::Prefix(path) => match decoded(path) {
            path if path.ends_with('/') => PathSpecifier::Prefix(path),
            path => PathSpecifier::PathSeparatedPrefix(path),
        },
        PathMatch::Regex(regex) => PathSpecifier::SafeRegex(RegexMatcher {
            regex: whole(regex),
            ..Default::default()
        }),
    }
}

/// Envoy compares the whole path.
pub(super) fn whole(regex: &PathRegex) -> String {
    sluice_pattern::re2(&regex.pattern, subject(regex.scope), regex.alternatives)
}

pub(super) fn subject(scope: RegexScope) -> Subject {
    match scope {
        RegexScope::Beginning => Subject::Path,
        RegexScope::Anywhere => Subject::InPath,
        RegexScope::AnywhereInAnyCase => Subject::InPathInAnyCase,
    }
}

/// A path is compared decoded, so it is written so.
pub(super) fn decoded(path: &str) -> String {
    let decoded = path::canonical(path.as_bytes())
        .ok()
        .and_then(|path| String::from_utf8(path.target).ok());
    decoded
        .filter(|_| path.contains('%'))
        .unwrap_or_else(|| path.to_owned())
}

pub(in crate::render) fn only_for(mut route: Route, header: HeaderMatcher) -> Route {
    if let Some(path) = &mut route.r#match {
        path.headers.push(header);
    }
    route
}

/// A port behind a host, which may be empty. Envoy finds the virtual host without it, so what looks at the host again has to take every
/// port that gets there: the routes of another host follow those that do not.
pub(super) const PORT: &str = "(?::[0-9]*)?";

/// ingress-nginx: `server_name ~^(?<subdomain>[\w-]+)\.example\.com$`. A port may follow. The virtual host has looked at the
/// suffix, so labels are all that is left to count, and no text of others is in the pattern.
pub(super) fn one_label_and(suffix: &Hostname) -> HeaderMatcher {
    let labels = suffix.as_str().split('.').count();
    matches(
        ":authority",
        &format!(r"[\w-]+(?:\.[\w-]+){{{labels}}}{PORT}"),
    )
}

/// By this name of a server, with a port or without. Others than those of the virtual host do not come here.
pub(super) fn named(name: &ServerName) -> HeaderMatcher {
    let name = match name {
        ServerName::Exact(host) => host.as_str().replace('.', r"\."),
        ServerName::Wildcard(suffix) => format!(r"[\w-]+\.{}", suffix.as_str().replace('.', r"\.")),
        ServerName::CatchAll => ".*".to_owned(),
    };
    matches(":authority", &format!(r"(?i:{name})\.?{PORT}"))
}

pub(super) fn spoken(scheme: &str) -> HeaderMatcher {
    is(PROTO, scheme)
}

/// Only for requests that come over TLS, whatever anybody says of their scheme.
pub(super) fn only_over_tls(route: Route, forwarded: &Forwarded) -> Route {
    match forwarded.tells_scheme() {
        true => client_tls::only_marked(route),
        false => only_for(route, spoken("https")),
    }
}

/// The path and the query are a slash and nothing else.
pub(super) fn bare_root() -> HeaderMatcher {
    is(":path", "/")
}

/// Beginnings of other protocols, which announce no body. As [`crate::render::policy`] has it for a filter.
pub(super) fn handshakes() -> [[HeaderMatcher; 3]; 2] {
    let asks = || matches("upgrade", &upgrades::asked());
    let no_length = HeaderMatcher {
        treat_missing_header_as_empty: true,
        ..matches("content-length", "0*")
    };
    [
        [asks(), is(":method", "GET"), no_length],
        [
            asks(),
            is(":method", "POST"),
            matches("content-length", "0+"),
        ],
    ]
}

pub(in crate::render) fn absent(header: &str) -> HeaderMatcher {
    HeaderMatcher {
        header_match_specifier: Some(HeaderMatchSpecifier::PresentMatch(false)),
        ..present(header)
    }
}

pub(in crate::render) fn present(header: &str) -> HeaderMatcher {
    HeaderMatcher {
        name: header.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::PresentMatch(true)),
        ..HeaderMatcher::default()
    }
}

pub(in crate::render) fn contains(header: &str, text: &str) -> HeaderMatcher {
    header_matcher(header, MatchPattern::Contains(text.to_owned()))
}

pub(in crate::render) fn starts(header: &str, text: &str) -> HeaderMatcher {
    header_matcher(header, MatchPattern::Prefix(text.to_owned()))
}

pub(in crate::render) fn ends(header: &str, text: &str) -> HeaderMatcher {
    header_matcher(header, MatchPattern::Suffix(text.to_owned()))
}

pub(super) fn is(header: &str, value: &str) -> HeaderMatcher {
    header_matcher(header, MatchPattern::Exact(value.to_owned()))
}

pub(super) fn is_not(header: &str, value: &str) -> HeaderMatcher {
    HeaderMatcher {
        invert_match: true,
        ..is(header, value)
    }
}

/// Takes what a matcher does not take, and what has no such header.
pub(in crate::render) fn no(matcher: HeaderMatcher) -> HeaderMatcher {
    HeaderMatcher {
        invert_match: true,
        treat_missing_header_as_empty: true,
        ..matcher
    }
}

/// The whole value, whatever case its letters have.
pub(in crate::render) fn is_in_any_case(header: &str, value: &str) -> HeaderMatcher {
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::Exact(value.to_owned())),
        ignore_case: true,
    };
    HeaderMatcher {
        name: header.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(pattern)),
        ..HeaderMatcher::default()
    }
}

/// The whole value matches.
pub(in crate::render) fn matches(header: &str, regex: &str) -> HeaderMatcher {
    let regex = RegexMatcher {
        regex: regex.to_owned(),
        ..RegexMatcher::default()
    };
    header_matcher(header, MatchPattern::SafeRegex(regex))
}

fn header_matcher(name: &str, pattern: MatchPattern) -> HeaderMatcher {
    let pattern = StringMatcher {
        match_pattern: Some(pattern),
        ..StringMatcher::default()
    };
    HeaderMatcher {
        name: name.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(pattern)),
        ..HeaderMatcher::default()
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn prefixes_take_whole_segments() {
        let prefix = |text: &str| path_specifier(&PathMatch::Prefix(text.to_owned()));
        assert_eq!(prefix("/"), PathSpecifier::Prefix("/".into()));
        assert_eq!(prefix("/foo/"), PathSpecifier::Prefix("/foo/".into()));
        assert_eq!(
            prefix("/foo"),
            PathSpecifier::PathSeparatedPrefix("/foo".into())
        );
        assert_eq!(
            path_specifier(&PathMatch::Exact("/foo/".into())),
            PathSpecifier::Path("/foo/".into())
        );
        assert_eq!(
            prefix("/a%2Fb%20c%2f"),
            PathSpecifier::Prefix("/a/b%20c/".into())
        );
        assert_eq!(
            prefix("/a%zz"),
            PathSpecifier::PathSeparatedPrefix("/a%zz".into())
        );
    }

    #[test]
    fn a_pattern_of_characters_alone_needs_no_program() {
        let of = |pattern: &str| {
            let regex = PathRegex::plain(pattern.to_owned());
            match_of_path(&PathMatch::Regex(regex))
        };
        let literal = of(r"/a\.b");
        assert_eq!(
            literal.path_specifier,
            Some(PathSpecifier::Prefix("/a.b".into()))
        );
        assert_eq!(literal.case_sensitive, Some(BoolValue { value: false }));
        assert!(matches!(
            of("/a.b").path_specifier,
            Some(PathSpecifier::SafeRegex(_))
        ));
    }

    #[test]
    fn whoever_looks_at_a_host_again_takes_it_with_every_port_and_with_none() {
        let takes = |matcher: &HeaderMatcher, host: &str| match &matcher.header_match_specifier {
            Some(HeaderMatchSpecifier::StringMatch(StringMatcher {
                match_pattern: Some(MatchPattern::SafeRegex(regex)),
                ..
            })) => Regex::new(&format!("^(?:{})$", regex.regex))
                .unwrap()
                .is_match(host),
            other => panic!("{other:?}"),
        };
        let suffix = Hostname::parse("b.test").unwrap();
        let again = [one_label_and(&suffix), named(&ServerName::Wildcard(suffix))];
        for (port, is_one) in [
            ("", true),
            (":", true),
            (":8", true),
            (":65536", true),
            (":x", false),
            (":80:90", false),
            (":-1", false),
        ] {
            for host in ["x.b.test", "X.B.TEST"] {
                let host = format!("{host}{port}");
                for matcher in &again {
                    assert_eq!(takes(matcher, &host), is_one, "{host} {matcher:?}");
                }
            }
        }
    }

    #[test]
    fn the_pattern_of_a_wildcard_counts_labels_and_holds_no_name() {
        let long = [
            ["a"; 30].join("-"),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(63),
        ]
        .join(".");
        let matcher = format!("{:?}", one_label_and(&Hostname::parse(&long).unwrap()));
        assert!(
            matcher.contains(r"[\\w-]+(?:\\.[\\w-]+){4}(?::[0-9]*)?"),
            "{matcher}"
        );
    }
}
