//! Paths as pods get them, and as redirects name them.

use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::{PathMatch, PathRegex, PathRewrite, Template, TemplatePart};

use super::matching::whole;

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
    let whole = if is_literal {
        "^/.*$".to_owned()
    } else {
        whole(regex)
    };
    let pieces = template.0.iter().map(|piece| match piece {
        TemplatePart::Text(text) => text.replace('\\', r"\\"),
        TemplatePart::Group(group) => format!(r"\{group}"),
    });
    substitute(&whole, pieces.collect())
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
