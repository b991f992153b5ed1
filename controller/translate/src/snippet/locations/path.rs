//! `location` blocks, and how nginx finds them.

use sluice_ir::{PathRegex, RegexScope};
use sluice_pattern::Subject;
use sluice_syntax::path;

/// Locations of one snippet.
pub(crate) const MAX_LOCATIONS: usize = 16;

/// Match of a location, in nginx's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LocationPath {
    /// `= /path`
    Exact(String),
    /// `^~ /path`: paths that begin so, also those that a pattern matches.
    PrefixBeforePatterns(String),
    /// `~ pattern` or `~* pattern`
    Pattern(PathRegex),
    /// `/path`: paths that begin so.
    Prefix(String),
}

impl LocationPath {
    /// Reads the words after `location`. `None`: not supported.
    pub(in crate::snippet) fn parse(words: &[&str]) -> Option<Self> {
        let (modifier, text) = modifier(words)?;
        Some(match modifier {
            "=" => LocationPath::Exact(literal(text)?),
            "^~" => LocationPath::PrefixBeforePatterns(literal(text)?),
            "~" => LocationPath::Pattern(of_path(text, Subject::InPath)?),
            "~*" => LocationPath::Pattern(of_path(text, Subject::InPathInAnyCase)?),
            _ => LocationPath::Prefix(literal(text)?),
        })
    }

    /// Reason why a pattern is not supported; `None`: it is, or there is none.
    pub(in crate::snippet) fn why_unsupported(words: &[&str]) -> Option<String> {
        let (modifier, text) = modifier(words)?;
        let subject = match modifier {
            "~" => Subject::InPath,
            "~*" => Subject::InPathInAnyCase,
            _ => return None,
        };
        let text = sluice_pattern::without_lookahead(text, subject);
        sluice_pattern::check(&sluice_pattern::with_flags_in_groups(&text), subject).err()
    }

    /// True if nginx refuses both in one server. `^~` tells no prefix from another.
    pub(crate) fn is_duplicate_of(&self, other: &Self) -> bool {
        match (self.prefix(), other.prefix()) {
            (Some(own), Some(other)) => own == other,
            _ => self == other,
        }
    }

    /// Literal text of a prefix.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match self {
            LocationPath::PrefixBeforePatterns(text) | LocationPath::Prefix(text) => Some(text),
            LocationPath::Exact(_) | LocationPath::Pattern(_) => None,
        }
    }

    /// As nginx has it, without `location`.
    pub(crate) fn written(&self) -> String {
        match self {
            LocationPath::Exact(text) => format!("= {text}"),
            LocationPath::PrefixBeforePatterns(text) => format!("^~ {text}"),
            LocationPath::Prefix(text) => text.clone(),
            LocationPath::Pattern(regex) => match regex.scope {
                RegexScope::AnywhereInAnyCase => format!("~* {}", regex.pattern),
                RegexScope::Anywhere | RegexScope::Beginning => format!("~ {}", regex.pattern),
            },
        }
    }

    /// True if Envoy can compare it beside the pattern of a `rewrite`.
    pub(crate) fn is_comparable(&self) -> bool {
        match self {
            LocationPath::Pattern(regex) => {
                let subject = match regex.scope {
                    RegexScope::AnywhereInAnyCase => Subject::InPathInAnyCase,
                    RegexScope::Anywhere | RegexScope::Beginning => Subject::InPath,
                };
                let alternatives = regex.alternatives;
                sluice_pattern::is_comparable_with_query(&regex.pattern, subject, alternatives)
            }
            LocationPath::Exact(text)
            | LocationPath::PrefixBeforePatterns(text)
            | LocationPath::Prefix(text) => {
                let text = sluice_pattern::escape(text);
                sluice_pattern::is_comparable_with_query(&text, Subject::InPath, false)
            }
        }
    }
}

/// The modifier, with or without a blank behind it, and the path or pattern.
fn modifier<'w>(words: &[&'w str]) -> Option<(&'w str, &'w str)> {
    const MODIFIERS: [&str; 4] = ["=", "^~", "~*", "~"];
    match words {
        [modifier, text] if MODIFIERS.contains(modifier) => Some((*modifier, *text)),
        [word] => {
            let split = |modifier: &'static str| Some((modifier, word.strip_prefix(modifier)?));
            Some(MODIFIERS.into_iter().find_map(split).unwrap_or(("", word)))
        }
        _ => None,
    }
}

/// nginx compares decoded paths with it as it is written.
fn literal(text: &str) -> Option<String> {
    let is_path = text.starts_with('/') && path::literal(text).is_ok() && !text.contains('%');
    is_path.then(|| text.to_owned())
}

/// A pattern that is found anywhere in a path, in words without lookahead where there are such.
pub(in crate::snippet) fn of_path(text: &str, subject: Subject) -> Option<PathRegex> {
    pattern(&sluice_pattern::without_lookahead(text, subject), subject)
}

/// A pattern that is found anywhere in a path.
pub(in crate::snippet) fn pattern(text: &str, subject: Subject) -> Option<PathRegex> {
    let text = sluice_pattern::with_flags_in_groups(text);
    let shape = sluice_pattern::check(&text, subject).ok()?;
    let scope = match subject {
        Subject::InPathInAnyCase | Subject::TextInAnyCase => RegexScope::AnywhereInAnyCase,
        Subject::Path | Subject::InPath | Subject::Text => RegexScope::Anywhere,
    };
    Some(PathRegex {
        pattern: text.into_owned(),
        groups: shape.groups,
        alternatives: shape.alternatives,
        scope,
        conditions: Vec::new(),
        backtracking: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_match_is_read() {
        let path = |text: &str| {
            let words: Vec<_> = text.split(' ').collect();
            LocationPath::parse(&words)
        };
        for text in ["= /a", "=/a"] {
            assert_eq!(path(text), Some(LocationPath::Exact("/a".into())), "{text}");
        }
        assert_eq!(path("/a"), Some(LocationPath::Prefix("/a".into())));
        assert_eq!(
            path("^~ /a/"),
            Some(LocationPath::PrefixBeforePatterns("/a/".into()))
        );
        for (text, scope) in [
            ("~ \\.php$", RegexScope::Anywhere),
            ("~*\\.php$", RegexScope::AnywhereInAnyCase),
        ] {
            let Some(LocationPath::Pattern(regex)) = path(text) else {
                panic!("{text}")
            };
            assert_eq!((regex.pattern.as_str(), regex.scope), ("\\.php$", scope));
        }
        let Some(LocationPath::Pattern(regex)) = path("~ (?i)^/A|b$") else {
            panic!("flags")
        };
        assert_eq!(
            (regex.pattern.as_str(), regex.alternatives),
            ("(?i:^/A|b$)", false)
        );
        let Some(LocationPath::Pattern(regex)) = path("~ /\\.(?!w).*") else {
            panic!("lookahead")
        };
        assert_eq!(regex.pattern, r"/\.(?:$|[^w]).*");
        for bad in [
            "@a",
            "/a%20b",
            "a",
            "~ (?=a)",
            "~ ^/(?!a)b",
            "=",
            "/a /b",
            "",
            "^~ a",
            "! /a",
        ] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}
