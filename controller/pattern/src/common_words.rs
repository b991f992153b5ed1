//! A pattern of a path in words that every engine of ours reads alike, where PCRE has several for the same.
//!
//! ```text
//!   /(?<id>[0-9]+)    /([0-9]+)             a group with a name has a number, too
//!   /a(?i)b|c         /a(?i:b)|(?i:c)       flags hold up to the end of the group, also for alternatives
//!   /(?s).*           /[\s\S]*
//!   /\x41\Qb.c\E      /Ab\.c
//!   /(\Aa|b\Z)        /(^a|b$)
//! ```
//!
//! What only some engines know, or read otherwise, stays as it is: [`crate::check`] refuses it. `\p{L}` is such a one: nginx compares
//! bytes, to which letters of Latin-1 are letters, and bytes of most letters of UTF-8 are none.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::DEEPEST;
use crate::nginx_variables::is_variable_of_nginx;
use crate::tokens::class_length;

/// Kinds of groups that stay what they are.
const KINDS: [&str; 6] = ["(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"];
/// A byte, whatever it is.
const ANY: &str = r"[\s\S]";
/// PCRE's limit before 10.44.
const LONGEST_NAME: usize = 32;

/// The same pattern in words that are common; the pattern itself where it has no others, or is not understood.
#[must_use]
pub fn in_common_words(pattern: &str) -> Cow<'_, str> {
    let has_others = pattern.contains('\\') || pattern.contains("(?");
    let pattern_in_limit = crate::within_limit(pattern).filter(|_| has_others);
    let written = pattern_in_limit.and_then(rewritten);
    written
        .filter(|written| written != pattern)
        .map_or(Cow::Borrowed(pattern), Cow::Owned)
}

/// Names of groups of a pattern; to nginx, each is a variable.
pub fn group_names(pattern: &str) -> impl Iterator<Item = &str> {
    let groups = pattern.match_indices("(?");
    groups.filter_map(|(at, _)| name(pattern.get(at..)?))
}

fn rewritten(pattern: &str) -> Option<String> {
    let mut reader = Reader {
        rest: pattern,
        written: String::with_capacity(pattern.len()),
        names: BTreeSet::new(),
    };
    reader.alternatives(Flags::default(), 0)?;
    reader.rest.is_empty().then_some(reader.written)
}

/// Flags that hold, as far as the pattern has said so.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    any_case: Option<bool>,
    /// `.` is a line break, too.
    breaks: bool,
}

struct Reader<'p> {
    rest: &'p str,
    written: String,
    /// Names of groups.
    names: BTreeSet<&'p str>,
}

impl<'p> Reader<'p> {
    /// Up to the parenthesis that closes the group, or to the end. `None`: it is not understood.
    fn alternatives(&mut self, outer: Flags, depth: u32) -> Option<()> {
        let depth = (depth <= DEEPEST).then_some(depth + 1)?;
        let mut flags = outer;
        let mut branch = Branch::default();
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                ')' => break,
                '|' => {
                    branch.close(&mut self.written);
                    self.take(1)?;
                    if flags.any_case != outer.any_case {
                        branch.open(flags.any_case, &mut self.written);
                    }
                }
                '(' => {
                    if let Some(changed) = self.group(flags, depth)? {
                        if changed.any_case != flags.any_case {
                            branch.close(&mut self.written);
                            branch.open(changed.any_case, &mut self.written);
                        }
                        flags = changed;
                    }
                }
                '[' => self.class()?,
                '\\' => self.escape()?,
                '{' => self.repetition()?,
                '.' if flags.breaks => self.replace(1, ANY)?,
                letter => self.take(letter.len_utf8())?,
            }
        }
        branch.close(&mut self.written);
        Some(())
    }

    /// Flags for what follows, if it is no group.
    fn group(&mut self, flags: Flags, depth: u32) -> Option<Option<Flags>> {
        let rest = self.rest;
        let mut inner = flags;
        if let Some(kind) = KINDS.into_iter().find(|kind| rest.starts_with(kind)) {
            self.take(kind.len())?;
        } else if let Some(name) = name(rest) {
            (!is_of_nginx(name) && self.names.insert(name)).then_some(())?;
            self.replace(rest.find('>')? + 1, "(")?;
            // Without the name it would be another kind of group, or a verb.
            let is_other = self.rest.starts_with(['?', '*']);
            (!is_other).then_some(())?;
        } else if let Some(written) = rest.strip_prefix("(?") {
            let end = written.find([':', ')'])?;
            inner = flags.changed(written.get(..end)?)?;
            let length = "(?:".len() + end;
            if written.get(end..)?.starts_with(')') {
                self.replace(length, "")?;
                // There is nothing that it would repeat.
                let is_repeated = self.rest.starts_with(['*', '+', '?', '{']);
                let is_joined = self.rest.starts_with(|next: char| self.joins(next));
                return (!is_repeated && !is_joined).then_some(Some(inner));
            }
            let is_of_case = written.get(..end)?.contains('i');
            let case = inner.any_case.filter(|_| is_of_case);
            self.replace(length, opening(case))?;
        } else if rest.starts_with("(*") {
            return None;
        } else {
            self.take(1)?;
        }
        self.alternatives(inner, depth)?;
        self.rest.starts_with(')').then(|| self.take(1))??;
        Some(None)
    }

    /// A whole one. Any other brace is a letter to PCRE, until something behind it is removed.
    fn repetition(&mut self) -> Option<()> {
        let end = self.rest.find('}')?;
        let (least, most) = match self.rest.get(1..end)?.split_once(',') {
            Some((least, most)) => (least, most),
            None => (self.rest.get(1..end)?, ""),
        };
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        let is_whole = !least.is_empty() && is_number(least) && is_number(most);
        is_whole.then(|| self.take(end + 1))?
    }

    fn class(&mut self) -> Option<()> {
        let length = class_length(self.rest)?;
        let mut inner = self.rest.get(..length)?;
        self.rest = self.rest.get(length..)?;
        while let Some(letter) = inner.chars().next() {
            let (length, by_number) = match number(inner) {
                Some((length, numbered)) => (length, Some(numbered)),
                None if inner.starts_with(r"\x") => return None,
                None if letter == '\\' => (1 + inner.chars().nth(1)?.len_utf8(), None),
                None => (letter.len_utf8(), None),
            };
            match by_number {
                Some(numbered) => self.push_literal(numbered)?,
                None => self.written.push_str(inner.get(..length)?),
            }
            inner = inner.get(length..)?;
        }
        Some(())
    }

    fn escape(&mut self) -> Option<()> {
        if let Some((length, numbered)) = number(self.rest) {
            self.push_literal(numbered)?;
            return self.replace(length, "");
        }
        match self.rest.chars().nth(1)? {
            // Digits behind it would be of its number.
            'x' => None,
            'A' => self.replace(2, "^"),
            'Z' => self.replace(2, "$"),
            'Q' => {
                let quoted = self.rest.get(2..)?;
                let end = quoted.find(r"\E").unwrap_or(quoted.len());
                let text = quoted.get(..end).filter(|text| !text.is_empty())?;
                text.chars()
                    .try_for_each(|letter| self.push_literal(letter))?;
                self.rest = quoted.get(end..)?;
                self.rest = self.rest.strip_prefix(r"\E").unwrap_or(self.rest);
                Some(())
            }
            other => self.take(1 + other.len_utf8()),
        }
    }

    /// A character that stands for itself, in a class and elsewhere.
    fn push_literal(&mut self, letter: char) -> Option<()> {
        (!self.joins(letter)).then_some(())?;
        // To some, `\<` is the beginning of a word.
        if letter.is_ascii_punctuation() && !matches!(letter, '<' | '>') {
            self.written.push('\\');
        }
        self.written.push(letter);
        Some(())
    }

    /// True if a character would be part of the number of a group, `\1`, that is before it.
    fn joins(&self, letter: char) -> bool {
        let before = self
            .written
            .trim_end_matches(|digit: char| digit.is_ascii_digit());
        let backslashes = before.len() - before.trim_end_matches('\\').len();
        letter.is_ascii_digit() && before.len() < self.written.len() && backslashes % 2 == 1
    }

    fn take(&mut self, length: usize) -> Option<()> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.written.push_str(taken);
        self.rest = rest;
        Some(())
    }

    fn replace(&mut self, length: usize, written: &str) -> Option<()> {
        self.rest = self.rest.get(length..)?;
        self.written.push_str(written);
        Some(())
    }
}

impl Flags {
    /// `None`: there are others among them.
    fn changed(self, written: &str) -> Option<Self> {
        let (mut flags, mut is_on) = (self, true);
        for letter in written.chars() {
            match letter {
                'i' => flags.any_case = Some(is_on),
                's' => flags.breaks = is_on,
                '-' if is_on => is_on = false,
                _ => return None,
            }
        }
        let is_whole = !written.is_empty() && !written.ends_with('-');
        is_whole.then_some(flags)
    }
}

/// One of several alternatives, in which a group may be open for flags that have no group of their own.
#[derive(Default)]
struct Branch {
    is_open: bool,
}

impl Branch {
    fn open(&mut self, any_case: Option<bool>, written: &mut String) {
        written.push_str(opening(any_case));
        self.is_open = true;
    }

    fn close(&mut self, written: &mut String) {
        if std::mem::take(&mut self.is_open) {
            written.push(')');
        }
    }
}

fn opening(any_case: Option<bool>) -> &'static str {
    match any_case {
        Some(true) => "(?i:",
        Some(false) => "(?-i:",
        None => "(?:",
    }
}

/// Name of a group that has one.
fn name(group: &str) -> Option<&str> {
    let written = ["(?<", "(?P<"].into_iter();
    let (name, _) = written
        .filter_map(|kind| group.strip_prefix(kind))
        .find_map(|rest| rest.split_once('>'))?;
    let is_name = name.len() <= LONGEST_NAME
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_name && !name.is_empty()).then_some(name)
}

/// True of names that mean something in nginx: there the group would change that.
fn is_of_nginx(name: &str) -> bool {
    /// Beginnings of further ones.
    const BEGINNINGS: [&str; 7] = [
        "balancer_",
        "content_",
        "date_",
        "document_",
        "pass_",
        "req_",
        "the_",
    ];
    let name = name.to_ascii_lowercase();
    is_variable_of_nginx(&name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// A character of ASCII that is written by its number, and the length of that.
fn number(text: &str) -> Option<(usize, char)> {
    let digits = text.strip_prefix(r"\x")?;
    let (length, digits) = match digits.strip_prefix('{') {
        Some(braced) => {
            let (digits, _) = braced.split_once('}')?;
            (r"\x{}".len() + digits.len(), digits)
        }
        None => (r"\x00".len(), digits.get(..2)?),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = is_number.then(|| u8::from_str_radix(digits, 16).ok())??;
    let letter = char::from(number);
    (letter.is_ascii_graphic() || letter == ' ').then_some((length, letter))
}

#[cfg(test)]
mod tests;
