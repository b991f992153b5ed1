//! Which requests a route takes.

use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{HeaderMatcher, Route, RouteMatch};
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatcher, StringMatcher};
use sluice_ir::{Hostname, PathMatch, PathRegex};

/// What the client spoke, as far as that is believed.
const PROTO: &str = "x-forwarded-proto";

pub(super) fn match_of(path: &PathMatch) -> RouteMatch {
    RouteMatch { path_specifier: Some(path_specifier(path)), ..RouteMatch::default() }
}

/// Envoy refuses a separated prefix that ends with a slash; a plain one then means the same.
pub(super) fn path_specifier(path: &PathMatch) -> PathSpecifier {
    match path {
        PathMatch::Exact(path) => PathSpecifier::Path(path.clone()),
        PathMatch::Prefix(path) if path.ends_with('/') => PathSpecifier::Prefix(path.clone()),
        PathMatch::Prefix(path) => PathSpecifier::PathSeparatedPrefix(path.clone()),
        PathMatch::Regex(regex) => {
            PathSpecifier::SafeRegex(RegexMatcher { regex: whole(regex), ..Default::default() })
        }
    }
}

/// Envoy compares the whole path.
pub(super) fn whole(regex: &PathRegex) -> String {
    let pattern = &regex.pattern;
    if regex.alternatives { format!("(?i).*?(?:^{pattern}).*") } else { format!("(?i){pattern}.*") }
}

pub(super) fn only_for(mut route: Route, header: HeaderMatcher) -> Route {
    if let Some(path) = &mut route.r#match {
        path.headers.push(header);
    }
    route
}

/// ingress-nginx: `server_name ~^(?<subdomain>[\w-]+)\.example\.com$`. A port may follow.
pub(super) fn one_label_and(suffix: &Hostname) -> HeaderMatcher {
    let suffix = suffix.as_str().replace('.', r"\.");
    matches(":authority", &format!(r"(?i)[\w-]+\.{suffix}(:\d+)?"))
}

pub(super) fn spoken(scheme: &str) -> HeaderMatcher {
    is(PROTO, scheme)
}

/// The path and the query are a slash and nothing else.
pub(super) fn bare_root() -> HeaderMatcher {
    is(":path", "/")
}

pub(super) fn is_there(header: &str) -> HeaderMatcher {
    HeaderMatcher {
        name: header.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::PresentMatch(true)),
        ..HeaderMatcher::default()
    }
}

pub(super) fn is(header: &str, value: &str) -> HeaderMatcher {
    header_matcher(header, MatchPattern::Exact(value.to_owned()))
}

pub(super) fn is_not(header: &str, value: &str) -> HeaderMatcher {
    HeaderMatcher { invert_match: true, ..is(header, value) }
}

/// The whole value, whatever case its letters have.
pub(in crate::render) fn is_in_any_case(header: &str, value: &str) -> HeaderMatcher {
    let pattern =
        StringMatcher { match_pattern: Some(MatchPattern::Exact(value.to_owned())), ignore_case: true };
    HeaderMatcher {
        name: header.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(pattern)),
        ..HeaderMatcher::default()
    }
}

/// The whole value matches.
pub(in crate::render) fn matches(header: &str, regex: &str) -> HeaderMatcher {
    let regex = RegexMatcher { regex: regex.to_owned(), ..RegexMatcher::default() };
    header_matcher(header, MatchPattern::SafeRegex(regex))
}

fn header_matcher(name: &str, pattern: MatchPattern) -> HeaderMatcher {
    let pattern = StringMatcher { match_pattern: Some(pattern), ..StringMatcher::default() };
    HeaderMatcher {
        name: name.to_owned(),
        header_match_specifier: Some(HeaderMatchSpecifier::StringMatch(pattern)),
        ..HeaderMatcher::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_take_whole_segments() {
        let prefix = |text: &str| path_specifier(&PathMatch::Prefix(text.to_owned()));
        assert_eq!(prefix("/"), PathSpecifier::Prefix("/".into()));
        assert_eq!(prefix("/foo/"), PathSpecifier::Prefix("/foo/".into()));
        assert_eq!(prefix("/foo"), PathSpecifier::PathSeparatedPrefix("/foo".into()));
        assert_eq!(path_specifier(&PathMatch::Exact("/foo/".into())), PathSpecifier::Path("/foo/".into()));
    }

    #[test]
    fn patterns_begin_where_the_path_begins_and_end_anywhere() {
        let whole = |pattern: &str, alternatives| {
            whole(&PathRegex { pattern: pattern.to_owned(), groups: 0, alternatives })
        };
        assert_eq!(whole("/a(/|$)", false), "(?i)/a(/|$).*");
        assert_eq!(whole("/a|/b", true), "(?i).*?(?:^/a|/b).*");
    }
}
