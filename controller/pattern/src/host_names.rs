//! Names of hosts that a pattern takes (nginx: `server_name ~^(www|api)\.example\.com$`), where they can be counted, or are those
//! under a name.
//!
//! Data planes find a host by its name, so a pattern becomes the names that it takes, and a pattern that cannot is an error. Of all
//! texts only those matter that a name of a host can be.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::DEEPEST;

/// Names of one pattern.
pub const MOST_HOST_NAMES: usize = 100;
/// Bytes of a name.
const LONGEST: usize = 253;
/// Steps of unfolding: what is empty can be repeated without becoming a name.
const MOST_STEPS: u32 = 4000;

/// Names that a pattern takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostNames {
    /// This one, in lower case.
    Name(String),
    /// One label and a dot before this.
    Label(String),
    /// One label or more, and a dot before this.
    Labels(String),
}

/// Unfolds a pattern that [`crate::check`] accepts. The error says what is wrong, to be read after "expected".
pub fn host_names(pattern: &str) -> Result<Vec<HostNames>, String> {
    // nginx compares a host in lower case, and a pattern with capital letters in either.
    let in_any_case = pattern.contains(|c: char| c.is_ascii_uppercase());
    let hir = ParserBuilder::new()
        .nest_limit(DEEPEST)
        .unicode(false)
        .utf8(false)
        .case_insensitive(in_any_case)
        .build()
        .parse(pattern)
        .map_err(|_| "a regular expression that RE2 and PCRE share".to_owned())?;
    let mut unfolding = Unfolding { steps: 0 };
    let mut all: Vec<HostNames> = Vec::new();
    for parts in unfolding.unfold(&hir)? {
        if let Some(names) = names(&parts)?
            && !all.contains(&names)
        {
            all.push(names);
        }
    }
    Ok(all)
}

/// A part of a text that a pattern takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    End,
    Byte(u8),
    /// Any letters of a label.
    Label,
    /// Any letters of a name.
    Labels,
}

type Parts = Vec<Part>;

/// `None`: no host has such a name.
fn names(parts: &[Part]) -> Result<Option<HostNames>, String> {
    const EXPECTED: &str = "a pattern of whole names: ~^ at its beginning and $ at its end";
    let [Part::Start, inner @ .., Part::End] = parts else {
        return Err(EXPECTED.to_owned());
    };
    let text = |parts: &[Part]| -> Result<String, String> {
        let letters = parts.iter().map(|part| match part {
            Part::Byte(byte) => Ok(char::from(*byte)),
            Part::Label | Part::Labels => {
                Err("other labels than the first ones to be written".to_owned())
            }
            Part::Start | Part::End => Err(EXPECTED.to_owned()),
        });
        letters.collect()
    };
    let names = match inner {
        [Part::Label, Part::Byte(b'.'), suffix @ ..] => HostNames::Label(text(suffix)?),
        [Part::Labels, Part::Byte(b'.'), suffix @ ..] => HostNames::Labels(text(suffix)?),
        inner => HostNames::Name(text(inner)?),
    };
    let (HostNames::Name(text) | HostNames::Label(text) | HostNames::Labels(text)) = &names;
    let is_name = !text.is_empty() && text.split('.').all(|label| !label.is_empty());
    Ok(is_name.then_some(names))
}

struct Unfolding {
    steps: u32,
}

impl Unfolding {
    fn unfold(&mut self, hir: &Hir) -> Result<Vec<Parts>, String> {
        self.step(1)?;
        match hir.kind() {
            HirKind::Empty => Ok(vec![Vec::new()]),
            HirKind::Literal(literal) => {
                let bytes = literal.0.iter().copied();
                // No name has others.
                let is_name = literal.0.iter().all(|byte| is_of_names(*byte));
                let parts = bytes.map(Part::Byte).collect();
                Ok(is_name.then_some(parts).into_iter().collect())
            }
            HirKind::Class(class) => {
                let bytes = bytes_of(class).into_iter();
                Ok(bytes.map(|byte| vec![Part::Byte(byte)]).collect())
            }
            HirKind::Look(Look::Start) => Ok(vec![vec![Part::Start]]),
            HirKind::Look(Look::End) => Ok(vec![vec![Part::End]]),
            HirKind::Look(_) => Err("no \\b and \\B in it".to_owned()),
            HirKind::Capture(capture) => self.unfold(&capture.sub),
            HirKind::Repetition(repetition) => self.unfold_repetition(repetition),
            HirKind::Concat(all) => {
                let mut before = vec![Vec::new()];
                for hir in all {
                    let after = self.unfold(hir)?;
                    before = self.joined(&before, &after)?;
                }
                Ok(before)
            }
            HirKind::Alternation(all) => {
                let mut either = Vec::new();
                for hir in all {
                    either.extend(self.unfold(hir)?);
                }
                self.within_limit(either)
            }
        }
    }

    fn unfold_repetition(&mut self, repetition: &Repetition) -> Result<Vec<Parts>, String> {
        let Some(most) = repetition.max else {
            let rest = match repetition.sub.kind() {
                HirKind::Class(class) => rest_of_name(class),
                _ => None,
            };
            // Of no letter is no name either where a dot follows.
            return match rest.filter(|_| repetition.min <= 1) {
                Some(rest) => Ok(vec![vec![rest]]),
                None => Err(
                    "names that can be counted, or all labels before a name: [^.]+, [a-z0-9-]+ or .+"
                        .to_owned(),
                ),
            };
        };
        let one = self.unfold(&repetition.sub)?;
        let (mut times, mut all) = (vec![Vec::new()], Vec::new());
        for count in 0..=most {
            if count >= repetition.min {
                all.extend(times.iter().cloned());
                all = self.within_limit(all)?;
            }
            if count < most {
                times = self.joined(&times, &one)?;
            }
        }
        Ok(all)
    }

    fn joined(&mut self, before: &[Parts], after: &[Parts]) -> Result<Vec<Parts>, String> {
        let pairs = before
            .iter()
            .flat_map(|a| after.iter().map(move |b| (a, b)));
        let mut all = Vec::new();
        for (a, b) in pairs {
            let joined: Parts = a.iter().chain(b).copied().collect();
            // With both ends.
            if joined.len() > LONGEST + 2 {
                return Err(format!("names of at most {LONGEST} bytes"));
            }
            self.step(1)?;
            all.push(joined);
            if all.len() > 2 * MOST_HOST_NAMES {
                return self.within_limit(all);
            }
        }
        self.within_limit(all)
    }

    fn within_limit(&mut self, all: Vec<Parts>) -> Result<Vec<Parts>, String> {
        self.step(u32::try_from(all.len()).unwrap_or(u32::MAX))?;
        match all.len() {
            0..=MOST_HOST_NAMES => Ok(all),
            _ => Err(too_many()),
        }
    }

    fn step(&mut self, steps: u32) -> Result<(), String> {
        self.steps = self.steps.saturating_add(steps);
        (self.steps <= MOST_STEPS)
            .then_some(())
            .ok_or_else(too_many)
    }
}

fn too_many() -> String {
    format!("a pattern of at most {MOST_HOST_NAMES} names; a dot that is meant is written \\.")
}

/// Names of hosts are compared in lower case.
fn is_of_names(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
}

fn bytes_of(class: &Class) -> Vec<u8> {
    let has = |byte: u8| match class {
        Class::Bytes(class) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&byte)),
        Class::Unicode(class) => class
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&char::from(byte))),
    };
    (0..128)
        .filter(|byte| is_of_names(*byte) && has(*byte))
        .collect()
}

/// The part that a class takes when it is repeated, if no letter of a label is missing. Names with `_` are no names of DNS.
fn rest_of_name(class: &Class) -> Option<Part> {
    let bytes = bytes_of(class);
    let is_missing = |byte: u8| !matches!(byte, b'_' | b'.') && !bytes.contains(&byte);
    let is_whole = !(0..128).any(|byte| is_of_names(byte) && is_missing(byte));
    is_whole.then_some(if bytes.contains(&b'.') {
        Part::Labels
    } else {
        Part::Label
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Result<Vec<String>, String> {
        let names = host_names(pattern)?.into_iter().map(|names| match names {
            HostNames::Name(name) => name,
            HostNames::Label(suffix) => format!("*.{suffix}"),
            HostNames::Labels(suffix) => format!("**.{suffix}"),
        });
        Ok(names.collect())
    }

    #[test]
    fn names_that_can_be_counted_are_written() {
        for (pattern, names) in [
            (r"^www\.a\.test$", &["www.a.test"][..]),
            (r"^(www|api)\.a\.test$", &["www.a.test", "api.a.test"]),
            (r"^(?:www\.)?a\.test$", &["a.test", "www.a.test"]),
            (
                r"^www[12]\.a\.(test|example)$",
                &[
                    "www1.a.test",
                    "www1.a.example",
                    "www2.a.test",
                    "www2.a.example",
                ],
            ),
            (r"^w{3}\.a\.test$", &["www.a.test"]),
            (r"^a\.test$|^b\.test$", &["a.test", "b.test"]),
            (
                r"^(?<name>WWW|Api)\.a\.test$",
                &["www.a.test", "api.a.test"],
            ),
            (r"^a[-b/: ]c\.test$", &["a-c.test", "abc.test"]),
            (r"^(a|a)\.test$", &["a.test"]),
            (r"^(|a)\.test$", &["a.test"]),
            (r"^a:80$", &[]),
        ] {
            assert_eq!(shown(pattern).unwrap(), names, "{pattern}");
        }
    }

    #[test]
    fn labels_before_a_name_are_a_wildcard() {
        for (pattern, names) in [
            (r"^[^.]+\.a\.test$", &["*.a.test"][..]),
            (r"^[a-z0-9-]+\.a\.test$", &["*.a.test"]),
            (r"^(?<sub>[\w-]+)\.a\.test$", &["*.a.test"]),
            (r"^.+\.a\.test$", &["**.a.test"]),
            (r"^(.*)\.a\.test$", &["**.a.test"]),
            (r"^([^.]+\.)?a\.test$", &["a.test", "*.a.test"]),
            (r"^[A-Z0-9-]+\.a\.test$", &["*.a.test"]),
        ] {
            let mut shown = shown(pattern).unwrap();
            shown.sort_by_key(|name| name.starts_with('*'));
            assert_eq!(shown, names, "{pattern}");
        }
    }

    #[test]
    fn all_else_is_an_error() {
        for bad in [
            r"a\.test",
            r"^a\.test",
            r"a\.test$",
            r"^a\.test$|b",
            r"^www.a.test$",
            r"^[a-z]+\.a\.test$",
            r"^\d+\.a\.test$",
            r"^[^.]{2,}\.a\.test$",
            r"^www\.[^.]+\.test$",
            r"^[^.]+\.[^.]+\.a\.test$",
            r"^x[^.]+\.a\.test$",
            r"^([a-z0-9-]+\.)+a\.test$",
            r"^[a-z]{2}[a-z]\.test$",
            r"^a\b\.test$",
            r"^a{254}$",
            r"^(|(|(|a){1000}){1000}){1000}$",
            "(",
        ] {
            assert!(shown(bad).is_err(), "{bad}: {:?}", shown(bad));
        }
    }
}
