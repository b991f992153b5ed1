//! Patterns of parts of a request's target, for a text that is all of it: Envoy has the target in `:path` and `:authority`, and nginx
//! has its parts in variables.
//!
//! ```text
//!   Path       /a%20b?x=1     decoded: "/a b", without the query
//!   Query           x=1       as it was sent
//!   Argument          1       the first of its name, as it was sent
//!   Host       A.test.:80     in lower case: "a.test", without the port
//! ```
//!
//! Envoy's path is canonical (`filter/core/src/path.rs`): what a path cannot have unencoded is encoded, in capitals, and nothing else is.

use regex_syntax::ast::{AssertionKind, Ast, Flag, GroupKind, Literal};

use crate::ast::is_optional;
use crate::class_set::Set;
use crate::encoded::{ANY_PATH, encoded, encoded_path, is_sent_as_it_is};
use crate::re2_cost::instructions;
use crate::{DEEPEST, MOST_INSTRUCTIONS};

/// Groups within groups of what is written: some for each letter of a name. RE2 takes a thousand.
const DEEPEST_TARGET: u32 = 240;

/// A line break that may be behind the end to nginx, but not behind the very end.
const BREAK: &str = "(?:%0A)?";

/// A part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetPart<'a> {
    /// Path, decoded.
    Path,
    /// Query without its question mark.
    Query,
    /// Value of the first parameter that has this name, whatever case its letters have.
    Argument(&'a str),
    /// Host in lower case, without the port and without a dot behind it (which a pattern may take, though). It has a text of its
    /// own. Nothing is found in one with a bracket, or hardly: the renderer decides about those.
    Host,
}

/// A pattern of all of a target, where one is found in a part of it. A part that is not there is empty. `None`: RE2 has no words for
/// it, or it would be too large. `pattern` has passed [`crate::check`].
#[must_use]
pub fn re2_target(part: TargetPart<'_>, pattern: &str, any_case: bool) -> Option<String> {
    let ast = crate::parse(pattern, DEEPEST).ok()?;
    let writer = Writer::new(part, pattern, false);
    let found = writer.at_beginning(&ast, any_case)?;
    let mut text = format!("(?:{found}){}", writer.rest);
    if let Some(missing) = &writer.missing
        && takes_empty(&ast)
    {
        text = format!("(?:{text}|{missing})");
    }
    measured(text)
}

/// The same where a part is this text.
#[must_use]
pub fn re2_target_equals(part: TargetPart<'_>, text: &str) -> Option<String> {
    if part == TargetPart::Host {
        return measured(format!(r"(?i:{})\.?(?::\d*)?", regex_syntax::escape(text)));
    }
    re2_target(part, &format!("^{}$", regex_syntax::escape(text)), false)
}

/// A pattern for a canonical path without a query, where `pattern` is one of what the path means. Groups stay what they are, and so
/// do alternatives outside all groups; where case does not matter, it must be said around it. `None`: RE2 has no words for it.
pub(crate) fn of_encoded_path(pattern: &str, any_case: bool) -> Option<String> {
    let ast = crate::parse(pattern, DEEPEST).ok()?;
    let writer = Writer {
        end: "(?:%0A)?$",
        ..Writer::new(TargetPart::Path, pattern, true)
    };
    writer.alternatives(&ast, any_case)
}

fn measured(text: String) -> Option<String> {
    let ast = crate::parse(&text, DEEPEST_TARGET).ok()?;
    (instructions(&ast) <= MOST_INSTRUCTIONS).then_some(text)
}

/// Writes a pattern for a text in which the part stands.
struct Writer<'a> {
    pattern: &'a str,
    /// Takes what is in front of the part.
    before: String,
    /// Takes the beginning of the part.
    begin: &'static str,
    /// The end of the part, and what follows. To nginx a line break may be behind the end.
    end: &'static str,
    /// Takes the rest of the part, and what follows.
    rest: &'static str,
    /// Takes a target without the part.
    missing: Option<String>,
    /// Character that ends the part.
    stop: Option<char>,
    /// The part is decoded, and the text is not.
    decodes: bool,
    /// The part is in lower case, and the text need not be.
    lowers: bool,
    /// Groups and letters of any case stay what they are.
    keeps_form: bool,
}

impl<'a> Writer<'a> {
    fn new(part: TargetPart<'_>, pattern: &'a str, keeps_form: bool) -> Self {
        let of_path = Writer {
            pattern,
            before: String::new(),
            begin: ANY_PATH,
            end: r"(?:%0A)?(?:$|\?(?s:.*)$)",
            rest: r"[^?]*(?:\?(?s:.*))?",
            missing: None,
            stop: None,
            decodes: true,
            lowers: false,
            keeps_form,
        };
        match part {
            TargetPart::Path => of_path,
            TargetPart::Query => Writer {
                before: r"[^?]*\?".to_owned(),
                begin: "(?s:.*)",
                end: "$",
                rest: "(?s:.*)",
                missing: Some("[^?]*".to_owned()),
                decodes: false,
                ..of_path
            },
            TargetPart::Argument(name) => {
                let other = other_than(name);
                let name = regex_syntax::escape(name);
                Writer {
                    before: format!(r"[^?]*\?(?:{other}&)*(?i:{name})="),
                    begin: "[^&]*",
                    end: "(?:$|&(?s:.*)$)",
                    rest: "[^&]*(?:&(?s:.*))?",
                    missing: Some(format!(r"[^?]*(?:\?(?:{other}&)*{other})?")),
                    stop: Some('&'),
                    decodes: false,
                    ..of_path
                }
            }
            TargetPart::Host => Writer {
                begin: r"[^:\[]*",
                end: r"\.?(?::\d*)?$",
                rest: r"[^:\[]*(?::\d*)?",
                stop: Some(':'),
                decodes: false,
                lowers: true,
                ..of_path
            },
        }
    }

    /// As [`Writer::write`], with what is in front: where the pattern wants the beginning of the part, nothing of the part is.
    fn at_beginning(&self, ast: &Ast, any_case: bool) -> Option<String> {
        let from_here = |ast: &Ast| {
            let written = self.write(ast, any_case)?;
            Some(format!("{}{}{written}", self.before, self.begin))
        };
        match ast {
            Ast::Assertion(assertion) if assertion.kind == AssertionKind::StartLine => {
                Some(self.before.clone())
            }
            Ast::Alternation(alternation) => {
                let all = alternation.asts.iter();
                let all: Option<Vec<_>> = all.map(|it| self.at_beginning(it, any_case)).collect();
                Some(format!("(?:{})", all?.join("|")))
            }
            Ast::Concat(concat) => {
                let (first, rest) = concat.asts.split_first()?;
                let rest = self.sequence(Some(first), rest, any_case)?;
                Some(self.at_beginning(first, any_case)? + &rest)
            }
            Ast::Group(group) if has_beginning(&group.ast) => {
                let inner = self.at_beginning(&group.ast, any_case || is_of_any_case(ast))?;
                Some(format!("(?:{inner})"))
            }
            other => from_here(other),
        }
    }

    fn write(&self, ast: &Ast, any_case: bool) -> Option<String> {
        Some(match ast {
            Ast::Empty(_) => String::new(),
            Ast::Literal(literal) => self.literal(literal, any_case),
            Ast::Dot(_) => self.set(Set::of_dot(false)),
            Ast::ClassPerl(class) => self.set(Set::of_perl(class)),
            Ast::ClassBracketed(class) => {
                let items = Set::of_items(&class.kind);
                let items = if any_case {
                    items.in_any_ascii_case()
                } else {
                    items
                };
                self.set(if class.negated {
                    items.negated()
                } else {
                    items
                })
            }
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::EndLine => self.end.to_owned(),
                AssertionKind::EndText => self.end.trim_start_matches(BREAK).to_owned(),
                // Otherwise it is written by `at_beginning`.
                AssertionKind::StartLine if self.decodes => "^".to_owned(),
                AssertionKind::WordBoundary if !self.decodes => r"\b".to_owned(),
                AssertionKind::NotWordBoundary if !self.decodes => r"\B".to_owned(),
                // The last digit of an encoded character would be a letter of a word: `sequence` knows what is in front.
                _ => return None,
            },
            Ast::Repetition(repetition) => {
                let one = self.write(&repetition.ast, any_case)?;
                let span = repetition.op.span;
                let times = self.pattern.get(span.start.offset..span.end.offset)?;
                // It is one piece, as repetitions of repetitions are refused.
                format!("{one}{times}")
            }
            Ast::Group(group) => {
                let is_of_any_case = is_of_any_case(ast);
                let inner = self.alternatives(&group.ast, any_case || is_of_any_case)?;
                let captures = matches!(group.kind, GroupKind::CaptureIndex(_));
                match (captures, is_of_any_case) {
                    (true, _) if self.keeps_form => format!("({inner})"),
                    (_, true) if self.keeps_form => format!("(?i:{inner})"),
                    _ => format!("(?:{inner})"),
                }
            }
            Ast::Alternation(_) => format!("(?:{})", self.alternatives(ast, any_case)?),
            Ast::Concat(concat) => self.sequence(None, &concat.asts, any_case)?,
            // No pattern that was checked has them.
            Ast::Flags(_) | Ast::ClassUnicode(_) => return None,
        })
    }

    /// As [`Writer::write`]; the alternatives of an alternation have no group around them.
    fn alternatives(&self, ast: &Ast, any_case: bool) -> Option<String> {
        let Ast::Alternation(alternation) = ast else {
            return self.write(ast, any_case);
        };
        let all = alternation.asts.iter();
        let all: Option<Vec<_>> = all.map(|it| self.write(it, any_case)).collect();
        Some(all?.join("|"))
    }

    /// Writes one after the other. RE2 sees the beginning and the end of a word where they are if no encoded character is in front,
    /// as what such a character begins with is no letter.
    fn sequence(&self, before: Option<&Ast>, asts: &[Ast], any_case: bool) -> Option<String> {
        let mut before = before;
        let mut text = String::new();
        for ast in asts {
            let boundary = word_boundary(ast)
                .filter(|_| before.is_some_and(|before| self.ends_as_it_is_sent(before)));
            match boundary {
                Some(boundary) => text.push_str(boundary),
                None => text.push_str(&self.write(ast, any_case)?),
            }
            before = Some(ast);
        }
        Some(text)
    }

    /// True if it takes characters, and the last one of them is not encoded.
    fn ends_as_it_is_sent(&self, ast: &Ast) -> bool {
        let is_plain = |set: Set| encoded(set).is_empty();
        match ast {
            Ast::Literal(literal) => is_sent_as_it_is(literal.c),
            Ast::ClassPerl(class) => is_plain(Set::of_perl(class)),
            Ast::ClassBracketed(class) => is_plain(Set::of(class)),
            Ast::Repetition(repetition) => {
                !is_optional(&repetition.op.kind) && self.ends_as_it_is_sent(&repetition.ast)
            }
            Ast::Group(group) => self.ends_as_it_is_sent(&group.ast),
            Ast::Alternation(alternation) => {
                let mut all = alternation.asts.iter();
                all.all(|ast| self.ends_as_it_is_sent(ast))
            }
            Ast::Concat(concat) => {
                let last = concat.asts.last();
                last.is_some_and(|ast| self.ends_as_it_is_sent(ast))
            }
            Ast::Empty(_) | Ast::Dot(_) | Ast::Assertion(_) => false,
            Ast::Flags(_) | Ast::ClassUnicode(_) => false,
        }
    }

    fn literal(&self, literal: &Literal, any_case: bool) -> String {
        let letter = literal.c;
        if letter.is_ascii() {
            let set = Set::of_range(letter, letter);
            let is_other = self.lowers && letter.is_ascii_alphabetic();
            let is_plain = is_sent_as_it_is(letter) && self.stop != Some(letter) && !is_other;
            let is_of_any_case = any_case && !self.keeps_form && letter.is_ascii_alphabetic();
            return match is_of_any_case {
                true => self.set(set.in_any_ascii_case()),
                false if is_plain => regex_syntax::escape(&letter.to_string()),
                false => self.set(set),
            };
        }
        match self.decodes {
            true => encoded_path(&letter.to_string()),
            false => letter.to_string(),
        }
    }

    /// One byte of the part.
    fn set(&self, set: Set) -> String {
        let set = if self.lowers { set.lowered() } else { set };
        if !self.decodes {
            return match self.stop {
                Some(stop) => set.without(stop).written(),
                None => set.written(),
            };
        }
        let sent = Set {
            // No path has the others, which make one range of several.
            ascii: set.ascii & Set::matching(is_unencoded_graphic),
            others: false,
        };
        let encoded = encoded(set);
        match (sent == Set::NONE, encoded.is_empty()) {
            (_, true) => sent.written(),
            (true, false) => format!("(?:%(?:{encoded}))"),
            (false, false) => format!("(?:{}|%(?:{encoded}))", sent.written()),
        }
    }
}

fn is_unencoded_graphic(letter: char) -> bool {
    letter.is_ascii_graphic() && letter != '%' && letter != '?'
}

fn word_boundary(ast: &Ast) -> Option<&'static str> {
    match ast {
        Ast::Assertion(assertion) => match assertion.kind {
            AssertionKind::WordBoundary => Some(r"\b"),
            AssertionKind::NotWordBoundary => Some(r"\B"),
            _ => None,
        },
        _ => None,
    }
}

fn is_of_any_case(group: &Ast) -> bool {
    let Ast::Group(group) = group else {
        return false;
    };
    let flags = group.flags();
    flags.and_then(|flags| flags.flag_state(Flag::CaseInsensitive)) == Some(true)
}

/// True if it may want the beginning of the text where it begins itself.
fn has_beginning(ast: &Ast) -> bool {
    match ast {
        Ast::Assertion(assertion) => assertion.kind == AssertionKind::StartLine,
        Ast::Alternation(alternation) => alternation.asts.iter().any(has_beginning),
        Ast::Concat(concat) => concat.asts.first().is_some_and(has_beginning),
        Ast::Group(group) => has_beginning(&group.ast),
        _ => false,
    }
}

/// True if it is found in the empty text.
fn takes_empty(ast: &Ast) -> bool {
    match ast {
        Ast::Empty(_) | Ast::Flags(_) => true,
        Ast::Assertion(assertion) => assertion.kind != AssertionKind::WordBoundary,
        Ast::Literal(_) | Ast::Dot(_) | Ast::ClassPerl(_) => false,
        Ast::ClassUnicode(_) | Ast::ClassBracketed(_) => false,
        Ast::Repetition(repetition) => {
            is_optional(&repetition.op.kind) || takes_empty(&repetition.ast)
        }
        Ast::Group(group) => takes_empty(&group.ast),
        Ast::Alternation(alternation) => alternation.asts.iter().any(takes_empty),
        Ast::Concat(concat) => concat.asts.iter().all(takes_empty),
    }
}

/// A parameter that has another name, or none: it differs in a letter, or no `=` follows.
fn other_than(name: &str) -> String {
    let no_equals = "(?:[^=&][^&]*)?".to_owned();
    name.chars().rev().fold(no_equals, |rest, letter| {
        let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
        let letters = match lower == upper {
            true => Set::of_range(lower, lower),
            false => Set::of_range(lower, lower).or(Set::of_range(upper, upper)),
        };
        let other = letters.with('&').negated().written();
        format!("(?:{other}[^&]*|{}{rest})?", letters.written())
    })
}
