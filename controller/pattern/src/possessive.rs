//! Possessive repetitions (`a++`) and atomic groups (`(?>a+)`), which RE2 does not know, where they change nothing: whatever they
//! would give back cannot begin what follows.

use std::borrow::Cow;

use regex_syntax::ast::{AssertionKind, Ast, RepetitionKind, RepetitionOp};

use crate::ast::{is_optional, letter};
use crate::class_set::Set;
use crate::tokens::{Kind, Tokens};
use crate::{DEEPEST, parse};

/// As a group that the parser knows, of the same length.
const ATOMIC: &str = "(?>";
const PLAIN: &str = "(?:";

/// A pattern of a path ([`crate::Subject::Path`]) that takes and captures the same without them; the pattern itself where there
/// are none, or they change something.
#[must_use]
pub fn without_possessives(pattern: &str) -> Cow<'_, str> {
    let written = rewritten(pattern);
    written.map_or(Cow::Borrowed(pattern), Cow::Owned)
}

fn rewritten(pattern: &str) -> Option<String> {
    let pattern = crate::within_limit(pattern).filter(|it| may_have_one(it))?;
    let tokens = Tokens::parse(pattern)?;
    let atomic = |token: &usize| tokens.is(*token, Kind::Open) && tokens.text(*token) == ATOMIC;
    let atomic: Vec<usize> = (0..tokens.len()).filter(atomic).collect();
    let is_in_look = |group: &usize| tokens.lookaround(*group).is_some();
    if atomic
        .iter()
        .any(|token| tokens.around(*token).iter().any(is_in_look))
    {
        return None;
    }
    let atomic: Vec<usize> = atomic
        .into_iter()
        .map(|token| tokens.range(0..token).len())
        .collect();
    let text: String = (0..tokens.len())
        .map(|token| match tokens.text(token) {
            ATOMIC if tokens.is(token, Kind::Open) => PLAIN,
            text => text,
        })
        .collect();
    let ast = parse(&masked(&text)?, DEEPEST).ok()?;
    let mut search = Search {
        atomic: &atomic,
        signs: Vec::new(),
        found: 0,
    };
    search.read(&ast, Next::Anything)?;
    if search.found == 0 {
        return None;
    }
    let keeps = |(at, letter): (usize, char)| (!search.signs.contains(&at)).then_some(letter);
    Some(text.char_indices().filter_map(keeps).collect())
}

/// True if something in it is written like one.
fn may_have_one(pattern: &str) -> bool {
    [ATOMIC, "++", "*+", "?+", "}+"]
        .iter()
        .any(|sign| pattern.contains(sign))
}

/// Lookaround, which the parser does not know, as assertions of the same length.
fn masked(pattern: &str) -> Option<String> {
    let tokens = Tokens::parse(pattern)?;
    let (mut text, mut token) = (String::new(), 0);
    while token < tokens.len() {
        let is_look = tokens.lookaround(token).is_some();
        let next = if is_look {
            tokens.partner(token)? + 1
        } else {
            token + 1
        };
        let written = tokens.range(token..next);
        if is_look {
            let inside = written.len().checked_sub(4).filter(|inside| *inside > 0)?;
            text.push_str(&format!("(?:{})", "^".repeat(inside)));
        } else {
            text.push_str(written);
        }
        token = next;
    }
    Some(text)
}

/// Beginning of what follows.
#[derive(Clone, Copy)]
enum Next {
    /// The pattern is over: whatever follows, it has been found.
    Anything,
    /// One of these characters, and nothing else will do.
    One(Set),
    /// Not known.
    Unknown,
}

impl Next {
    /// True if nothing that begins like this is found where one of these characters is.
    fn is_never(self, letters: Set) -> bool {
        match self {
            Next::Anything => true,
            Next::One(next) => next.is_disjoint(letters),
            Next::Unknown => false,
        }
    }
}

struct Search<'a> {
    /// Offsets of atomic groups.
    atomic: &'a [usize],
    /// Offsets of the signs that make repetitions possessive.
    signs: Vec<usize>,
    found: usize,
}

impl Search<'_> {
    /// `None`: there is one that changes something, or may.
    fn read(&mut self, ast: &Ast, next: Next) -> Option<()> {
        match ast {
            Ast::Concat(concat) => {
                // From behind: each is looked at once.
                let mut followed = Vec::with_capacity(concat.asts.len());
                let mut behind = next;
                for ast in concat.asts.iter().rev() {
                    followed.push((ast, behind));
                    behind = beginning(ast, behind);
                }
                let mut in_order = followed.into_iter().rev();
                in_order.try_for_each(|(ast, behind)| self.read(ast, behind))
            }
            Ast::Alternation(alternation) => alternation
                .asts
                .iter()
                .try_for_each(|ast| self.read(ast, next)),
            Ast::Group(group) => {
                if self.atomic.contains(&group.span.start.offset) {
                    self.found += 1;
                    is_atomic_anyway(&group.ast, next).then_some(())?;
                }
                self.read(&group.ast, next)
            }
            Ast::Repetition(outer) => match outer.ast.as_ref() {
                Ast::Repetition(inner) => {
                    let is_possessive = is_sign(&outer.op) && inner.greedy && outer.greedy;
                    let letters = letter(&inner.ast)?;
                    (is_possessive && next.is_never(letters)).then_some(())?;
                    self.found += 1;
                    self.signs.push(outer.op.span.start.offset);
                    Some(())
                }
                // It may follow itself.
                inner => self.read(inner, Next::Unknown),
            },
            _ => Some(()),
        }
    }
}

fn is_sign(op: &RepetitionOp) -> bool {
    op.kind == RepetitionKind::OneOrMore
}

/// True if a group has one way to match only, or gives back in vain.
fn is_atomic_anyway(ast: &Ast, next: Next) -> bool {
    match ast {
        Ast::Repetition(repetition) if repetition.greedy => {
            letter(&repetition.ast).is_some_and(|letters| next.is_never(letters))
        }
        Ast::Alternation(alternation) => {
            let words: Option<Vec<_>> = alternation.asts.iter().map(word).collect();
            words.is_some_and(|words| are_different(&words))
        }
        ast => word(ast).is_some(),
    }
}

/// Characters one after the other.
fn word(ast: &Ast) -> Option<Vec<Set>> {
    match ast {
        Ast::Concat(concat) => concat.asts.iter().map(letter).collect(),
        ast => letter(ast).map(|letter| vec![letter]),
    }
}

/// True if no text begins with two of them.
fn are_different(words: &[Vec<Set>]) -> bool {
    let differ = |a: &Vec<Set>, b: &Vec<Set>| a.iter().zip(b).any(|(a, b)| a.is_disjoint(*b));
    let mut rest = words;
    while let Some((first, others)) = rest.split_first() {
        if !others.iter().all(|other| differ(first, other)) {
            return false;
        }
        rest = others;
    }
    true
}

/// Beginning of one with another behind it.
fn beginning(ast: &Ast, behind: Next) -> Next {
    match ast {
        Ast::Empty(_) => behind,
        Ast::Assertion(assertion) if assertion.kind == AssertionKind::EndLine => match behind {
            // Where all is taken is an end, too.
            Next::Anything => Next::One(Set::NONE),
            _ => Next::One(Set::NONE.with('\n')),
        },
        Ast::Group(group) => beginning(&group.ast, behind),
        Ast::Concat(concat) => {
            let from_behind = concat.asts.iter().rev();
            from_behind.fold(behind, |behind, ast| beginning(ast, behind))
        }
        Ast::Alternation(alternation) => {
            let all = alternation.asts.iter();
            let all = all.map(|ast| beginning(ast, behind));
            all.reduce(both).unwrap_or(Next::Unknown)
        }
        Ast::Repetition(repetition) => {
            let run = match repetition.ast.as_ref() {
                Ast::Repetition(possessive) => possessive,
                _ => repetition,
            };
            let once = beginning(&run.ast, Next::Unknown);
            if is_optional(&run.op.kind) {
                either(once, behind)
            } else {
                once
            }
        }
        ast => letter(ast).map_or(Next::Unknown, Next::One),
    }
}

/// Something that need not be there, in front of something else.
fn either(optional: Next, behind: Next) -> Next {
    match behind {
        Next::Anything => Next::Anything,
        behind => both(optional, behind),
    }
}

/// One or the other.
fn both(one: Next, other: Next) -> Next {
    match (one, other) {
        (Next::One(one), Next::One(other)) => Next::One(one.or(other)),
        (Next::Anything, Next::Anything) => Next::Anything,
        _ => Next::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookaround::tests::{captured, texts};

    #[test]
    fn the_same_is_taken_and_captured() {
        for (pattern, expected) in [
            ("/[^/]++/(.*)", "/[^/]+/(.*)"),
            ("/([^/]*+)/?(b)?", "/([^/]*)/?(b)?"),
            ("/([^/]*+)(/b)?$", "/([^/]*)(/b)?$"),
            ("/a++b++(a|/)", "/a+b+(a|/)"),
            ("/(a?+)(b|/)", "/(a?)(b|/)"),
            ("/(?>[a]+)(b)", "/(?:[a]+)(b)"),
            ("/(?>aa|b)(.*)", "/(?:aa|b)(.*)"),
            ("/(a|b)++", ""),
            ("/b{1,2}+a", "/b{1,2}a"),
            ("/(.*+)", "/(.*)"),
            ("/(.*+)$", "/(.*)$"),
            ("/a*+a", ""),
            ("/A*+a", ""),
            ("/(?>a|ab)b", ""),
            ("/(?>a+)b*a", ""),
            ("/(?:a++b?)*b", ""),
            (r"/[^a]++$\n", ""),
            ("/a+?+b", ""),
            ("/(?>(a+))b", ""),
            ("/a+b", ""),
            ("/([^/]++)/(?!a)(.*)", "/([^/]+)/(?!a)(.*)"),
            ("/a++(?!b)", ""),
            ("/(?!a++b)b++a", "/(?!a++b)b+a"),
            ("/(?!(?>a|ab)c)b++a", ""),
        ] {
            let written = without_possessives(pattern);
            let expected = if expected.is_empty() {
                pattern
            } else {
                expected
            };
            assert_eq!(written, expected);
            if written != pattern {
                for text in texts() {
                    assert_eq!(
                        captured(&written, &text),
                        captured(pattern, &text),
                        "{pattern}: {text:?}"
                    );
                }
            }
        }
    }
}
