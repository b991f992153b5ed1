//! A pattern as each engine gets it. Whatever stands around it is decided here, so that it is measured as well.

use crate::MOST_STEPS;
use crate::encoded::ANY_PATH;
use crate::target_parts::of_encoded_path;

/// Subject that a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A path: the pattern begins where the path begins, whatever case letters have, and need not reach its end.
    Path,
    /// A path: the pattern is found in it.
    InPath,
    /// The same, whatever case letters have.
    InPathInAnyCase,
    /// Any text: the pattern is found in it.
    Text,
    /// The same, whatever case letters have.
    TextInAnyCase,
}

/// For RE2 in Envoy, which compares the whole of a text. `alternatives` is [`crate::Shape::alternatives`].
///
/// Envoy's path is canonical, and has some characters encoded which nginx compares decoded. The pattern has passed
/// [`crate::check`]: otherwise it is one that Envoy refuses, as no path may be taken without it.
#[must_use]
pub fn re2(pattern: &str, subject: Subject, alternatives: bool) -> String {
    for_re2(pattern, subject, alternatives).unwrap_or_else(|| "(".to_owned())
}

/// `None`: RE2 has no words for it.
pub(crate) fn for_re2(pattern: &str, subject: Subject, alternatives: bool) -> Option<String> {
    let of_path = |any_case| of_encoded_path(pattern, any_case);
    Some(match subject {
        // As ingress-nginx writes it: `^` belongs to the first alternative only.
        Subject::Path if alternatives => format!("(?i){ANY_PATH}?(?:^{}).*", of_path(true)?),
        Subject::Path => format!("(?i){}.*", of_path(true)?),
        Subject::InPath => format!("{ANY_PATH}(?:{}).*", of_path(false)?),
        Subject::InPathInAnyCase => format!("{ANY_PATH}(?i:{}).*", of_path(true)?),
        Subject::Text => format!("(?s:.*)(?:{pattern})(?s:.*)"),
        Subject::TextInAnyCase => format!("(?s:.*)(?i:{pattern})(?s:.*)"),
    })
}

/// The same, with groups from the first place where it is found, as in nginx.
#[must_use]
pub fn re2_first(pattern: &str, subject: Subject, alternatives: bool) -> String {
    let of_path = |any_case| of_encoded_path(pattern, any_case);
    let found = match subject {
        Subject::Path => return re2(pattern, subject, alternatives),
        Subject::InPath => of_path(false),
        Subject::InPathInAnyCase => of_path(true).map(|found| format!("(?i){found}")),
        Subject::Text => return format!("^(?s:.*?)(?:{pattern})(?s:.*)$"),
        Subject::TextInAnyCase => return format!("^(?s:.*?)(?i:{pattern})(?s:.*)$"),
    };
    let found = found.unwrap_or_else(|| "(".to_owned());
    format!("^{ANY_PATH}?(?:{found}).*$")
}

/// For PCRE in nginx, which looks for a pattern.
///
/// PCRE goes back and tries again, which can take exponentially long. So it gets a number of steps, after which nginx
/// answers 500. It begins to count anew at each character where it starts to look, so it starts at the first one only; and
/// it must not skip steps (`NO_AUTO_POSSESS`), or it would not count what it does between them.
#[must_use]
pub fn pcre(pattern: &str, subject: Subject, alternatives: bool) -> String {
    let body = pcre_body(pattern, subject, alternatives);
    if literal(pattern).is_some() {
        // There is nothing to try again.
        return body;
    }
    format!("(*LIMIT_MATCH={MOST_STEPS})(*NO_AUTO_POSSESS){body}")
}

/// As [`pcre`], for a pattern of a path without alternatives that is held against paths which match some others, and do not
/// match some.
#[must_use]
pub fn pcre_under_conditions<'c>(
    conditions: impl IntoIterator<Item = (&'c str, bool)>,
    pattern: &str,
) -> String {
    let looks = conditions.into_iter().map(|(condition, is_negative)| {
        let kind = if is_negative { '!' } else { '=' };
        format!("(?{kind}{condition})")
    });
    let looks: String = looks.collect();
    format!("(*LIMIT_MATCH={MOST_STEPS})(*NO_AUTO_POSSESS)(?i)^{looks}{pattern}")
}

/// Without what only PCRE reads.
pub(crate) fn pcre_body(pattern: &str, subject: Subject, alternatives: bool) -> String {
    match subject {
        Subject::Path if alternatives => format!("(?i)^(?s:.*?)(?:^{pattern})"),
        Subject::Path => format!("(?i)^{pattern}"),
        Subject::InPath | Subject::Text => format!("^(?s:.*?)(?:{pattern})"),
        Subject::InPathInAnyCase | Subject::TextInAnyCase => format!("^(?s:.*?)(?i:{pattern})"),
    }
}

/// A pattern that takes this text and nothing else.
#[must_use]
pub fn escape(text: &str) -> String {
    regex_syntax::escape(text)
}

/// The text that a pattern takes and nothing else: there is nothing in it but characters.
#[must_use]
pub fn literal(pattern: &str) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(Some(letters.next().filter(char::is_ascii_punctuation)?)),
            letter
                if regex_syntax::is_meta_character(letter)
                    && !matches!(letter, '-' | '&' | '~' | '#') =>
            {
                return None;
            }
            letter => text.push(letter),
        }
    }
    Some(text)
}
