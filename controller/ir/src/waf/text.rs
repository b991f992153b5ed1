//! Texts that stay inside their quotes.
//!
//! ModSecurity's scanner reads `\"` at the beginning of a text as its end, and `%"` as a part of it. So a text has no
//! backslash, no quote, and a percent sign in front of the brace of a macro only.

use std::fmt;

use serde::Serialize;

use super::variable::VARIABLES;

/// Bytes of a text.
const LONGEST: usize = 4000;

/// A name: letters, digits and some signs, none of which means anything in a list of actions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// `None`: there is another character in it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-./:[]$*".contains(letter);
        let is_one = (1..=LONGEST).contains(&text.len()) && text.chars().all(allowed);
        is_one.then(|| Token(text.to_owned()))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text with macros (`%{REMOTE_ADDR}`), to be written in quotes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WafText(String);

impl WafText {
    /// A text for single quotes and for double quotes. `None`: it would not stay inside, or has a macro that shows what is
    /// not of the request.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        WafText::without(text, &['\''])
    }

    /// A text for double quotes.
    #[must_use]
    pub fn in_double_quotes(text: &str) -> Option<Self> {
        WafText::without(text, &[])
    }

    /// A value of a variable.
    #[must_use]
    pub fn of_variable(text: &str) -> Option<Self> {
        WafText::without(text, &['\'', ',', '='])
    }

    fn without(text: &str, excluded: &[char]) -> Option<Self> {
        let plain = |letter: char| {
            !letter.is_control()
                && !matches!(letter, '"' | '\\' | '%')
                && !excluded.contains(&letter)
        };
        let mut parts = text.split('%');
        let is_plain = |part: &str| part.chars().all(plain);
        let fits = (1..=LONGEST).contains(&text.len())
            && parts.next().is_some_and(is_plain)
            && parts.all(|part| {
                let macro_and_rest = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                macro_and_rest.is_some_and(|(name, rest)| is_macro(name) && is_plain(rest))
            });
        fits.then(|| WafText(text.to_owned()))
    }

    /// True if a macro shows a variable of rules.
    #[must_use]
    pub fn has_rule_variables(&self) -> bool {
        self.0.to_ascii_lowercase().contains("%{tx")
    }
}

impl fmt::Display for WafText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_macro(text: &str) -> bool {
    let (name, selector) = text
        .split_once(['.', ':'])
        .map_or((text, None), |(name, selector)| (name, Some(selector)));
    let is_known = VARIABLES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name));
    is_known && selector.is_none_or(|selector| Token::new(selector).is_some())
}

/// A value of a setting: printable ASCII without quotes, backslashes and percent signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SettingValue(String);

impl SettingValue {
    /// `None`: there is another character in it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let allowed = |letter: char| {
            (letter.is_ascii_graphic() || letter == ' ') && !"\"'\\%#`".contains(letter)
        };
        let is_one = (1..=LONGEST).contains(&text.len()) && text.chars().all(allowed);
        is_one.then(|| SettingValue(text.to_owned()))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
