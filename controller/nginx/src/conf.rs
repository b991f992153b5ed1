//! Texts of others in nginx's grammar.
//!
//! nginx reads a quoted word so: `\"` and `\\` are one character, and in most directives `$name` is a variable. Nothing
//! escapes a `$`, so it comes out of a variable itself, `$sluice_dollar`. With that every text can be written, and none
//! can be anything else than a text.

use std::fmt::{self, Display, Write};
use std::path::Path;

use askama::filters::{Escaper, Safe};

/// A word longer than this might not fit nginx's buffer of 4096 bytes, quotes and all.
const LONGEST: usize = 4000;
/// Replacement for characters that must not be in a configuration.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The escaper of all templates: a text that is neither a [`Word`] nor a [`Value`] is escaped as a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conf;

impl Escaper for Conf {
    fn write_escaped_str<W: Write>(&self, mut to: W, text: &str) -> fmt::Result {
        text.chars().try_for_each(|letter| match letter {
            '$' => to.write_str("${sluice_dollar}"),
            letter => escaped(&mut to, letter),
        })
    }
}

fn escaped(to: &mut impl Write, letter: char) -> fmt::Result {
    match letter {
        '"' | '\\' => write!(to, "\\{letter}"),
        letter if letter.is_control() => to.write_char(REPLACEMENT),
        letter => to.write_char(letter),
    }
}

/// A quoted word where nginx knows no variables: paths, names, patterns.
pub(crate) type Word = Safe<Quoted>;
/// A quoted word where nginx replaces variables.
pub(crate) type Value = Safe<Quoted>;

/// A text in quotes, written by [`word`] or by a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted(String);

impl Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

impl Quoted {
    /// True if it equals this plain text, ignoring case.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }

    /// True if both are the same, ignoring case.
    pub(crate) fn is_same_name(&self, other: &Quoted) -> bool {
        self.is(&other.0)
    }

    /// As the name of a variable has it, if it is a name of letters, digits and hyphens.
    pub(crate) fn as_variable(&self) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let name = || self.0.to_ascii_lowercase().replace('-', "_");
        self.0.bytes().all(is_plain).then(name)
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        self.0.len() <= LONGEST
    }

    /// True if it fits into those of nginx's hashes whose buckets are of 64 bytes, whatever anybody says: with it go
    /// two pointers and two bytes.
    pub(crate) fn fits_small_bucket(&self) -> bool {
        self.0.len() <= 46
    }
}

/// Quotes a text for a directive that knows no variables.
pub(crate) fn word(text: impl Display) -> Word {
    let mut quoted = String::new();
    for letter in text.to_string().chars() {
        // Writing to a String does not fail.
        let _ = escaped(&mut quoted, letter);
    }
    Safe(Quoted(quoted))
}

/// Quotes a text as a key of `map`. Some words are directives there, also in quotes, and a `~` begins a pattern; to all of them a
/// backslash in front says that they are texts.
pub(crate) fn map_key(text: &str) -> Word {
    const DIRECTIVES: [&str; 4] = ["default", "hostnames", "include", "volatile"];
    if DIRECTIVES.contains(&text) || text.starts_with(['~', '\\']) {
        word(format!("\\{text}"))
    } else {
        word(text)
    }
}

/// A socket in the file system, where an address can be.
pub(crate) fn unix(file: &Path) -> Word {
    word(format!("unix:{}", file.display()))
}

/// A value in the making: texts of others and variables of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(String);

impl Text {
    /// A text of others.
    pub(crate) fn then(mut self, text: &str) -> Self {
        // Writing to a String does not fail.
        let _ = Conf.write_escaped_str(&mut self.0, text);
        self
    }

    /// A text of others whose lines and tabs stay. Never for a header, where the end of a line ends the header.
    pub(crate) fn then_lines(mut self, text: &str) -> Self {
        for piece in text.split_inclusive(['\n', '\r', '\t']) {
            let (text, escape) = match piece.char_indices().next_back() {
                Some((at, '\n')) => (&piece[..at], r"\n"),
                Some((at, '\r')) => (&piece[..at], r"\r"),
                Some((at, '\t')) => (&piece[..at], r"\t"),
                _ => (piece, ""),
            };
            self = self.then(text);
            self.0.push_str(escape);
        }
        self
    }

    /// Another value behind it.
    pub(crate) fn append(mut self, other: Text) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// A variable, by its [`plain`] name.
    pub(crate) fn variable(mut self, name: &str) -> Self {
        self.0.push_str("${");
        self.0.push_str(&plain(name));
        self.0.push('}');
        self
    }

    /// Capture group of the last pattern, from 1 to 9.
    pub(crate) fn group(mut self, group: u8) -> Self {
        debug_assert!((1..=9).contains(&group), "nginx's have one digit");
        self.0.push('$');
        self.0.push(char::from(b'0' + group % 10));
        self
    }

    pub(crate) fn quoted(self) -> Value {
        Safe(Quoted(self.0))
    }
}

/// The name of a variable: characters that cannot be in one are what nginx makes of them in names of headers.
pub(crate) fn plain(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

/// A value without anything of the request in it.
pub(crate) fn value(text: impl Display) -> Value {
    Text::default().then(&text.to_string()).quoted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_quotes_or_names_a_variable() {
        let hostile = "a\" b\\ c$host ${x} ; } # {\n\r\0";
        let text = value(hostile).0.to_string();
        assert_eq!(
            text,
            "\"a\\\" b\\\\ c${sluice_dollar}host ${sluice_dollar}{x} ; } # {\u{fffd}\u{fffd}\u{fffd}\""
        );
        assert_eq!(word("~^\\d+$\"").0.to_string(), r#""~^\\d+$\"""#);
    }

    #[test]
    fn a_variable_is_a_name_and_nothing_else() {
        let text = Text::default()
            .then("v=")
            .variable("http_x-a}$b")
            .group(1)
            .quoted();
        assert_eq!(text.0.to_string(), r#""v=${http_x_a__b}$1""#);
    }

    #[test]
    fn key_of_a_map_is_a_text() {
        for (text, key) in [
            ("default", r#""\\default""#),
            ("include", r#""\\include""#),
            ("~a", r#""\\~a""#),
            ("\\a", r#""\\\\a""#),
            ("a.default", r#""a.default""#),
        ] {
            assert_eq!(map_key(text).0.to_string(), key);
        }
    }

    #[test]
    fn a_word_that_nginx_cannot_read_is_known_before() {
        assert!(word("a".repeat(4000)).0.fits());
        assert!(!word("\"".repeat(2001)).0.fits());
    }
}
