//! Paths as pods get them, and as redirects name them.

use envoy_types::pb::envoy::config::route::v3::RouteMatch;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::{PathMatch, PathRegex, PathRewrite, RegexScope, Template, TemplatePart};
use sluice_pattern::escape;

use super::matching::{matches, whole};

/// `None` where the rewrite does not fit the path: a template needs a pattern, and a prefix a prefix.
pub(super) fn regex_rewrite(
    path: &PathMatch,
    rewrite: &PathRewrite,
) -> Option<RegexMatchAndSubstitute> {
    let text = |text: &str| text.replace('\\', r"\\");
    match (path, rewrite) {
        (PathMatch::Regex(regex), PathRewrite::Template(to)) => Some(by_template(regex, to)),
        (_, PathRewrite::Template(_)) => None,
        (_, PathRewrite::Full { full }) => Some(substitute("(?s)^.*$", text(full))),
        (PathMatch::Prefix(old), PathRewrite::Prefix { prefix }) => {
            let old = sluice_pattern::escape(old.trim_end_matches('/'));
            Some(match prefix.as_str() {
                "/" => substitute(&format!("(?s)^{old}/?(.*)$"), r"/\1".to_owned()),
                prefix => substitute(&format!("(?s)^{old}(/.*)?$"), text(prefix) + r"\1"),
            })
        }
        (_, PathRewrite::Prefix { .. }) => None,
    }
}

pub(super) fn by_template(regex: &PathRegex, template: &Template) -> RegexMatchAndSubstitute {
    // The route has looked at a pattern of characters alone, and all of the path is replaced.
    let is_literal = sluice_pattern::literal(&regex.pattern).is_some();
    let whole = match regex.scope {
        RegexScope::Beginning if is_literal => "^/.*$".to_owned(),
        RegexScope::Beginning => whole(regex),
        // The first place where it is found, as in nginx.
        RegexScope::Anywhere => format!("^(?s:.*?)(?:{})(?s:.*)$", regex.pattern),
        RegexScope::AnywhereInAnyCase => format!("^(?s:.*?)(?i:{})(?s:.*)$", regex.pattern),
    };
    let pieces = template.0.iter().map(|piece| match piece {
        TemplatePart::Text(text) => text.replace('\\', r"\\"),
        TemplatePart::Group(group) => format!(r"\{group}"),
    });
    substitute(&whole, pieces.collect())
}

/// Paths that a route takes and a pattern matches. Envoy compares a pattern with the path alone, and headers with the query as
/// well, so the route's path is compared as a header; none of it is a pattern.
pub(super) fn paths_of_both(of_route: Option<&RouteMatch>, regex: &PathRegex) -> RouteMatch {
    let mut both = of_route.cloned().unwrap_or_default();
    let pattern = RegexMatcher {
        regex: whole(regex),
        ..RegexMatcher::default()
    };
    let own = both
        .path_specifier
        .replace(PathSpecifier::SafeRegex(pattern));
    let text = match own {
        Some(PathSpecifier::Path(path)) => format!(r"{}(?:\?(?s:.*))?", escape(&path)),
        Some(PathSpecifier::Prefix(path)) => format!("{}(?s:.*)", escape(&path)),
        Some(PathSpecifier::PathSeparatedPrefix(path)) => {
            format!("{}(?:[/?](?s:.*))?", escape(&path))
        }
        // A pattern would be compared with the query, too; translation closes such routes, so none has a rewrite.
        _ => "never".to_owned(),
    };
    both.headers.push(matches(":path", &text));
    both
}

pub(super) fn substitute(regex: &str, substitution: String) -> RegexMatchAndSubstitute {
    RegexMatchAndSubstitute {
        pattern: Some(RegexMatcher {
            regex: regex.to_owned(),
            ..RegexMatcher::default()
        }),
        substitution,
    }
}
