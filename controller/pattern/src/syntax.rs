//! The syntax that RE2 and PCRE share: anything else is refused by name.

use regex_syntax::ast::{
    AssertionKind, Ast, ClassBracketed, ClassSet, ClassSetItem, Error, ErrorKind, FlagsItemKind,
    Group, GroupKind, Literal, LiteralKind, Repetition, RepetitionKind, RepetitionRange,
    SpecialLiteralKind,
};

use crate::Subject;

/// PCRE looks properties up for bytes there, of which a letter beyond ASCII has several: `é` is no `\pL`, and half of it is.
const UNICODE: &str = "a Unicode class such as \\pL, which nginx compares with single bytes (write [A-Za-z], or [^/] for any letter)";

/// Lookaround, as it is named where it is refused.
pub const LOOKAROUND: &str = "lookaround such as (?!...) or (?=...)";
/// The same where [`crate::without_lookahead`] has taken what it can.
const OTHER_LOOKAROUND: &str = "lookaround other than (?!...) that excludes texts, with nothing or .* behind it, such as (?!api|v1(/|$)).*";

/// Reason why a pattern cannot be parsed.
pub(crate) fn parse_error(error: &Error, subject: Subject) -> String {
    match error.kind() {
        ErrorKind::UnsupportedLookAround => match subject {
            Subject::Text | Subject::TextInAnyCase => LOOKAROUND.to_owned(),
            Subject::Path | Subject::InPath | Subject::InPathInAnyCase => {
                OTHER_LOOKAROUND.to_owned()
            }
        },
        ErrorKind::FlagUnrecognized if is_atomic(error) => {
            "an atomic group such as (?>...)".to_owned()
        }
        ErrorKind::FlagUnrecognized => {
            "a conditional, recursive or other group such as (?(1)...), (?1) or (?|...)".to_owned()
        }
        ErrorKind::UnsupportedBackreference => "a backreference such as \\1".to_owned(),
        other => other.to_string(),
    }
}

/// Paths of Ingresses may have such groups; other patterns may not.
fn is_atomic(error: &Error) -> bool {
    let at = error.span().start.offset;
    error
        .pattern()
        .get(at..)
        .is_some_and(|rest| rest.starts_with('>'))
}

/// Number of capturing groups, when both engines know all of it.
pub(crate) fn check(pattern: &str, ast: &Ast) -> Result<u32, String> {
    let mut reader = Reader { pattern, groups: 0 };
    reader.read(ast)?;
    Ok(reader.groups)
}

struct Reader<'a> {
    pattern: &'a str,
    groups: u32,
}

impl Reader<'_> {
    fn read(&mut self, ast: &Ast) -> Result<(), String> {
        match ast {
            Ast::Empty(_) | Ast::Dot(_) | Ast::ClassPerl(_) => Ok(()),
            Ast::Literal(literal) => character(&literal.kind),
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::EndText
                | AssertionKind::WordBoundary
                | AssertionKind::NotWordBoundary => Ok(()),
                _ => Err("an assertion other than ^, $, \\z, \\b and \\B".to_owned()),
            },
            Ast::ClassBracketed(class) => self.class(class),
            Ast::Repetition(repetition) => self.repetition(repetition),
            Ast::Group(group) => self.group(group),
            Ast::Alternation(alternation) => {
                alternation.asts.iter().try_for_each(|ast| self.read(ast))
            }
            Ast::Concat(concat) => concat.asts.iter().try_for_each(|ast| self.read(ast)),
            Ast::Flags(_) => Err("flags other than (?i) at the beginning".to_owned()),
            Ast::ClassUnicode(_) => Err(UNICODE.to_owned()),
        }
    }

    fn repetition(&mut self, repetition: &Repetition) -> Result<(), String> {
        match *repetition.ast {
            Ast::Repetition(_) => {
                return Err("a repetition of a repetition, such as a possessive a++".to_owned());
            }
            // PCRE does not repeat what takes no characters.
            Ast::Assertion(_) => return Err("a repetition of an assertion such as ^*".to_owned()),
            Ast::Literal(ref literal) => one_byte(literal.c)?,
            _ => {}
        }
        if let RepetitionKind::Range(range) = &repetition.op.kind {
            self.count(repetition, range)?;
        }
        self.read(&repetition.ast)
    }

    /// Written as everybody reads it: `{,5}` is a text to some.
    fn count(&self, repetition: &Repetition, range: &RepetitionRange) -> Result<(), String> {
        let span = repetition.op.span;
        let written = self
            .pattern
            .get(span.start.offset..span.end.offset)
            .unwrap_or_default();
        let (usual, most) = match range {
            RepetitionRange::Exactly(count) => (format!("{{{count}}}"), *count),
            RepetitionRange::AtLeast(least) => (format!("{{{least},}}"), *least),
            RepetitionRange::Bounded(least, most) => (format!("{{{least},{most}}}"), *most),
        };
        if written.trim_end_matches('?') != usual {
            Err(format!("a repetition that is written {written}"))
        } else if u64::from(most) > crate::MOST_REPETITIONS {
            Err(format!("more than {} repetitions", crate::MOST_REPETITIONS))
        } else {
            Ok(())
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), String> {
        match &group.kind {
            GroupKind::CaptureIndex(_) => self.groups += 1,
            GroupKind::NonCapturing(flags) => {
                let only_case = flags.items.iter().all(|item| {
                    matches!(
                        item.kind,
                        FlagsItemKind::Flag(regex_syntax::ast::Flag::CaseInsensitive)
                    )
                });
                only_case.then_some(()).ok_or("flags other than i")?;
            }
            GroupKind::CaptureName { .. } => {
                return Err("a named group that cannot be numbered; use (...)".to_owned());
            }
        }
        self.read(&group.ast)
    }

    fn class(&self, class: &ClassBracketed) -> Result<(), String> {
        let span = class.span;
        let written = self
            .pattern
            .get(span.start.offset..span.end.offset)
            .unwrap_or_default();
        // PCRE takes these for the name of a class without its own brackets, and refuses them.
        let is_named = [":", ".", "="].iter().any(|mark| {
            let inner = written
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            inner.is_some_and(|inner| {
                inner.len() > 1 && inner.starts_with(mark) && inner.ends_with(mark)
            })
        });
        if is_named {
            Err(format!("a class that is written {written}"))
        } else {
            set(&class.kind)
        }
    }
}

/// PCRE repeats and chooses from bytes, and RE2 may do so with characters.
fn one_byte(letter: char) -> Result<(), String> {
    let what = "which is more than one byte, repeated or in a class";
    if letter.is_ascii() {
        Ok(())
    } else {
        Err(format!("{letter:?}, {what}"))
    }
}

fn character(kind: &LiteralKind) -> Result<(), String> {
    match kind {
        LiteralKind::Verbatim | LiteralKind::Meta | LiteralKind::Superfluous => Ok(()),
        // What has been a lookahead needs it.
        LiteralKind::Special(SpecialLiteralKind::LineFeed) => Ok(()),
        _ => Err("a character by its number or name".to_owned()),
    }
}

fn in_class(literal: &Literal) -> Result<(), String> {
    one_byte(literal.c).and(character(&literal.kind))
}

fn set(set: &ClassSet) -> Result<(), String> {
    match set {
        ClassSet::Item(item) => set_item(item),
        ClassSet::BinaryOp(_) => Err("an operation on classes".to_owned()),
    }
}

fn set_item(item: &ClassSetItem) -> Result<(), String> {
    match item {
        ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) | ClassSetItem::Perl(_) => Ok(()),
        ClassSetItem::Literal(literal) => in_class(literal),
        ClassSetItem::Range(range) => in_class(&range.start).and(in_class(&range.end)),
        ClassSetItem::Union(union) => union.items.iter().try_for_each(set_item),
        ClassSetItem::Unicode(_) => Err(UNICODE.to_owned()),
        ClassSetItem::Bracketed(_) => Err("a class in a class".to_owned()),
    }
}
