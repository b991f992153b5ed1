//! Paths as pods get them, and as redirects name them.

use envoy_types::pb::envoy::config::route::v3::RouteMatch;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::{PathMatch, PathRegex, PathRewrite, RegexScope, TemplatePart};
use sluice_pattern::escape;

use super::matching::{matches, subject, whole};

/// `None` where the rewrite does not fit the path: a template needs a pattern, and a prefix a prefix.
pub(super) fn regex_rewrite(
    path: &PathMatch,
    rewrite: &PathRewrite,
) -> Option<RegexMatchAndSubstitute> {
    let text = |text: &str| text.replace('\\', r"\\");
    match (path, rewrite) {
        (PathMatch::Regex(regex), PathRewrite::Template(to)) if !to.has_host() => {
            Some(by_template(regex, &to.0))
        }
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

pub(in crate::render) fn by_template(
    regex: &PathRegex,
    template: &[TemplatePart],
) -> RegexMatchAndSubstitute {
    // The route has looked at a pattern of characters alone, and all of the path is replaced.
    let is_literal = sluice_pattern::literal(&regex.pattern).is_some();
    let whole = match regex.scope {
        RegexScope::Beginning if is_literal => "^/.*$".to_owned(),
        scope => sluice_pattern::re2_first(&regex.pattern, subject(scope), regex.alternatives),
    };
    let pieces = template.iter().map(|piece| match piece {
        TemplatePart::Text(text) => text.replace('\\', r"\\"),
        TemplatePart::Group(group) => format!(r"\{group}"),
        // No pattern has it: `captured.rs` writes it between patterns.
        TemplatePart::Host => String::new(),
    });
    substitute(&whole, pieces.collect())
}

/// Paths that a route takes and a pattern matches. Envoy compares one of them with the path alone, so the route's own is compared
/// as a header, with the query behind it. `None`: that would be beyond RE2's limits, which translation reports.
pub(super) fn paths_of_both(
    of_route: Option<&RouteMatch>,
    regex: &PathRegex,
) -> Option<RouteMatch> {
    let mut both = of_route.cloned().unwrap_or_default();
    let pattern = RegexMatcher {
        regex: whole(regex),
        ..RegexMatcher::default()
    };
    let any_case = both.case_sensitive.take().is_some_and(|it| !it.value);
    let flag = if any_case { "(?i)" } else { "" };
    let own = both
        .path_specifier
        .replace(PathSpecifier::SafeRegex(pattern));
    let path = match own? {
        PathSpecifier::Path(path) => format!("{flag}{}", escape(&path)),
        PathSpecifier::Prefix(path) => format!("{flag}{}(?s:.*)", escape(&path)),
        PathSpecifier::PathSeparatedPrefix(path) => format!("{flag}{}(?:/(?s:.*))?", escape(&path)),
        PathSpecifier::SafeRegex(regex) => regex.regex,
        // No route of ours has another.
        PathSpecifier::ConnectMatcher(_) | PathSpecifier::PathMatchPolicy(_) => return None,
    };
    both.headers
        .push(matches(":path", &sluice_pattern::with_query(&path)?));
    Some(both)
}

pub(in crate::render) fn substitute(regex: &str, substitution: String) -> RegexMatchAndSubstitute {
    RegexMatchAndSubstitute {
        pattern: Some(RegexMatcher {
            regex: regex.to_owned(),
            ..RegexMatcher::default()
        }),
        substitution,
    }
}
