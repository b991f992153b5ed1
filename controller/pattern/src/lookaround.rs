//! Lookaround as conditions on the whole path, beside a pattern without it.
//!
//! ```text
//!   /v[0-9]/(?!api)(.*)\.html$    /v[0-9]/(.*)\.html$  and not  /v[0-9]/(?:api)
//!   /(.*)(?<!\.js)$               /(.*)$               and not  [\s\S]*(?:\.js)$
//!   /((?!admin).)*$               /(.)*$               and not  /.*(?:admin)
//! ```
//!
//! That is the same where there is one place in a path only that the lookaround can be held against: behind a text of which no
//! beginning would do, too ([`ends_in_one_place`]), or at the end of the path.

use regex_syntax::ParserBuilder;
use regex_syntax::ast::{AssertionKind, Ast, RepetitionKind, RepetitionRange};

use crate::ast::{is_without, letter};
use crate::class_set::Set;
use crate::query::with_query;
use crate::target_parts::of_encoded_path;
use crate::tokens::{Kind, Tokens};
use crate::{DEEPEST, Shape, Subject, parse, pcre_cost};

/// Conditions of one pattern.
const MAX_CONDITIONS: usize = 4;

/// A pattern of a path, and what else the path has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// A pattern without lookaround.
    pub pattern: String,
    /// Its shape, with the cost of all conditions.
    pub shape: Shape,
    /// All of them hold.
    pub conditions: Vec<Condition>,
}

/// A condition on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// A pattern of its beginning, without groups that capture.
    pub pattern: String,
    /// The path must not match.
    pub is_negative: bool,
}

/// A pattern of a path ([`Subject::Path`]) in other words; `None` where it has no lookaround, or needs it.
#[must_use]
pub fn without_lookaround(pattern: &str) -> Option<Conditional> {
    let pattern = crate::within_limit(pattern)?;
    let (text, conditions) = split(pattern, |look| look.has_empty_groups())?;
    let all = conditions
        .iter()
        .map(|condition| condition.pattern.as_str());
    let texts: Vec<&str> = all.chain([text.as_str()]).collect();
    let mut shape = crate::check(&text, Subject::Path).ok()?;
    let fits = !conditions.is_empty()
        && texts.iter().map(|text| text.len()).sum::<usize>() <= crate::MAX_PATTERN_BYTES
        && texts.iter().map(|text| cost(text)).sum::<Option<u64>>()? <= pcre_cost::MOST_BYTES
        && conditions
            .iter()
            .all(|condition| re2_condition(&condition.pattern).is_some());
    for condition in &conditions {
        shape.cost += crate::check(&condition.pattern, Subject::Path).ok()?.cost;
    }
    fits.then_some(Conditional {
        pattern: text,
        shape,
        conditions,
    })
}

/// The same for the value of a header, in which a pattern is found ([`Subject::Text`]); it has no line breaks, and its groups are
/// of no account. All but lookbehind at the end needs a pattern that begins where the value begins.
#[must_use]
pub fn of_text_without_lookaround(pattern: &str) -> Option<Conditional> {
    let pattern = crate::within_limit(pattern)?;
    let is_anchored = Tokens::parse(pattern)?.text(0) == "^";
    let (text, conditions) = split(pattern, |look| is_anchored || look.is_behind)?;
    let shape = crate::check(&text, Subject::Text).ok()?;
    let mut all = conditions.iter().map(|condition| &condition.pattern);
    let fits =
        !conditions.is_empty() && all.all(|pattern| crate::check(pattern, Subject::Text).is_ok());
    fits.then_some(Conditional {
        pattern: text,
        shape,
        conditions,
    })
}

/// A pattern without lookaround, and what each was.
fn split(pattern: &str, knows: impl Fn(&Look<'_>) -> bool) -> Option<(String, Vec<Condition>)> {
    let mut text = pattern.to_owned();
    let mut conditions = Vec::new();
    while let Some(look) = Look::find(&text)? {
        let (rest, condition) = look.split().filter(|_| knows(&look))?;
        text = rest;
        conditions.push(condition);
        if conditions.len() > MAX_CONDITIONS {
            return None;
        }
    }
    Some((text, conditions))
}

/// A condition for RE2 in Envoy, to be compared with a path and the query behind it.
#[must_use]
pub fn re2_condition(pattern: &str) -> Option<String> {
    with_query(&format!("(?i){}(?s:.*)", of_encoded_path(pattern, true)?))
}

fn cost(pattern: &str) -> Option<u64> {
    parse(pattern, DEEPEST)
        .ok()
        .map(|ast| pcre_cost::bytes(&ast))
}

/// The first lookaround of a pattern.
struct Look<'p> {
    tokens: Tokens<'p>,
    /// Number of the token that opens it, and of that which closes it.
    open: usize,
    close: usize,
    is_behind: bool,
    is_negative: bool,
}

impl<'p> Look<'p> {
    /// `Some(None)`: there is none. `None`: it cannot be read.
    fn find(pattern: &'p str) -> Option<Option<Self>> {
        let tokens = Tokens::parse(pattern)?;
        let mut found = (0..tokens.len()).filter_map(|open| Some((open, tokens.lookaround(open)?)));
        let Some((open, look)) = found.next() else {
            return Some(None);
        };
        let close = tokens.partner(open)?;
        Some(Some(Look {
            tokens,
            open,
            close,
            is_behind: look.is_behind,
            is_negative: look.is_negative,
        }))
    }

    /// True if no group of it holds anything behind it.
    fn has_empty_groups(&self) -> bool {
        self.is_negative || self.tokens.captures(self.open + 1..self.close) == 0
    }

    /// The pattern without it, and the condition that it is.
    fn split(&self) -> Option<(String, Condition)> {
        let tokens = &self.tokens;
        let body = self.open + 1..self.close;
        let groups = tokens.captures(body.clone());
        if self.has_alternatives_around() || tokens.is_count(self.close + 1) {
            return None;
        }
        let body = tokens.uncaptured(body, &[]);
        let head = tokens.uncaptured(0..self.open, &self.around());
        let counted: Vec<usize> = self
            .around()
            .into_iter()
            .filter(|open| self.is_counted(*open))
            .collect();
        let pattern = match (self.is_behind, counted.as_slice()) {
            (true, []) if has_fixed_lengths(tokens.range(self.open + 1..self.close))? => {
                self.behind(&body)?
            }
            (false, []) if ends_in_one_place(&head)? => format!("{head}(?:{body})"),
            (false, [group]) => self.again_and_again(*group, &head, &body)?,
            _ => return None,
        };
        // Groups within it are empty, but counted.
        let rest = [
            tokens.range(0..self.open),
            &"()".repeat(groups),
            tokens.range(self.close + 1..tokens.len()),
        ];
        let condition = Condition {
            pattern,
            is_negative: self.is_negative,
        };
        Some((rest.concat(), condition))
    }

    /// In front of the end of the path: what is before it does not end with a line break, so there is one end only.
    fn behind(&self, body: &str) -> Option<String> {
        let before = self.tokens.uncaptured(0..self.open, &self.around());
        let is_last = self.tokens.is_end(self.close + 1);
        let shortest = regex_syntax::parse(body).ok()?.properties().minimum_len()?;
        (is_last && shortest > 0 && ends_without_break(&before)? && takes_no_break(body)?)
            .then(|| format!(r"[\s\S]*(?:{body})$"))
    }

    /// `((?!text).)*$`: the text begins nowhere from here on.
    fn again_and_again(&self, group: usize, head: &str, body: &str) -> Option<String> {
        let tokens = &self.tokens;
        let (letter, count) = (self.close + 1, tokens.partner(group)? + 1);
        let is_all = group + 1 == self.open && tokens.partner(group)? == letter + 1;
        let is_lazy = tokens.text(count + 1) == "?";
        let behind = count + 1 + usize::from(is_lazy);
        let is_known = is_all
            && self.is_negative
            && tokens.is(letter, Kind::Other)
            && matches!(tokens.text(count), "*" | "+")
            && tokens.is_end(behind);
        let letter = tokens.text(letter);
        let shortest = regex_syntax::parse(body).ok()?.properties().minimum_len()?;
        let fits = is_known && shortest > 0 && takes_no_break(body)? && ends_in_one_place(head)?;
        fits.then(|| format!("{head}{letter}*(?:{body})"))
    }

    /// Groups that it is in.
    fn around(&self) -> Vec<usize> {
        self.tokens.around(self.open)
    }

    fn is_counted(&self, group: usize) -> bool {
        let close = self.tokens.partner(group);
        close.is_some_and(|close| self.tokens.is_count(close + 1))
    }

    /// True also where one of these groups is of a kind of its own.
    fn has_alternatives_around(&self) -> bool {
        let around = self.around();
        let is_simple = |open: &usize| matches!(self.tokens.text(*open), "(" | "(?:");
        !around.iter().all(is_simple)
            || (0..self.tokens.len()).any(|token| {
                let group = self.tokens.around(token).last().copied();
                self.tokens.is(token, Kind::Either)
                    && group.is_none_or(|group| around.contains(&group))
            })
    }
}

/// True if no text that it takes begins with another that it takes: what follows it in a path follows in one place.
fn ends_in_one_place(pattern: &str) -> Option<bool> {
    let ast = parse(pattern, DEEPEST).ok()?;
    Some(is_prefix_code(&ast))
}

fn is_prefix_code(ast: &Ast) -> bool {
    let mut parts = Vec::new();
    flatten(ast, &mut parts);
    let mut parts = parts.into_iter();
    while let Some(part) = parts.next() {
        let ends = match part {
            Ast::Assertion(assertion) => assertion.kind == AssertionKind::StartLine,
            Ast::Repetition(repetition) if exactly(&repetition.op.kind).is_none() => {
                // A run of some characters ends where another one follows.
                let run = letter(&repetition.ast);
                let next = parts.next().and_then(letter);
                run.zip(next)
                    .is_some_and(|(run, next)| run.is_disjoint(next))
            }
            part => length(part).is_some(),
        };
        if !ends {
            return false;
        }
    }
    true
}

/// Parts that follow one another, out of their groups.
fn flatten<'a>(ast: &'a Ast, parts: &mut Vec<&'a Ast>) {
    match ast {
        Ast::Empty(_) => {}
        Ast::Concat(concat) => concat.asts.iter().for_each(|ast| flatten(ast, parts)),
        Ast::Group(group) if group.flags().is_none_or(|flags| flags.items.is_empty()) => {
            match group.ast.as_ref() {
                Ast::Alternation(_) => parts.push(ast),
                inner => flatten(inner, parts),
            }
        }
        ast => parts.push(ast),
    }
}

/// Number of characters of every text that it takes, where that is always the same.
fn length(ast: &Ast) -> Option<u32> {
    match ast {
        Ast::Empty(_) => Some(0),
        Ast::Repetition(repetition) => {
            length(&repetition.ast)?.checked_mul(exactly(&repetition.op.kind)?)
        }
        Ast::Group(group) => length(&group.ast),
        Ast::Concat(concat) => concat.asts.iter().map(length).sum(),
        Ast::Alternation(alternation) => {
            let mut lengths = alternation.asts.iter().map(length);
            let first = lengths.next()??;
            lengths.all(|length| length == Some(first)).then_some(first)
        }
        ast => letter(ast).map(|_| 1),
    }
}

fn exactly(kind: &RepetitionKind) -> Option<u32> {
    match kind {
        RepetitionKind::Range(RepetitionRange::Exactly(count)) => Some(*count),
        _ => None,
    }
}

/// True if nothing in it takes a line break.
fn takes_no_break(pattern: &str) -> Option<bool> {
    let ast = parse(pattern, DEEPEST).ok()?;
    Some(is_without_break(&ast))
}

fn is_without_break(ast: &Ast) -> bool {
    is_without(ast, Set::NONE.with('\n'))
}

/// True if PCRE takes it for a lookbehind: each of its alternatives has one length, in bytes.
fn has_fixed_lengths(body: &str) -> Option<bool> {
    let ast = parse(body, DEEPEST).ok()?;
    let alternatives = match &ast {
        Ast::Alternation(all) => all.asts.iter().collect(),
        _ => vec![&ast],
    };
    let mut bytes = ParserBuilder::new();
    bytes.unicode(false).utf8(false);
    let mut lengths = alternatives.into_iter().map(|alternative| {
        let span = alternative.span();
        let text = body.get(span.start.offset..span.end.offset)?;
        let properties = bytes.build().parse(text).ok()?.properties().clone();
        Some(properties.minimum_len()? == properties.maximum_len()?)
    });
    lengths.try_fold(true, |all, is_fixed| Some(all && is_fixed?))
}

/// True if no text that it takes ends with a line break.
fn ends_without_break(pattern: &str) -> Option<bool> {
    let ast = parse(pattern, DEEPEST).ok()?;
    let mut parts = Vec::new();
    flatten(&ast, &mut parts);
    for part in parts.into_iter().rev() {
        if !is_without_break(part) {
            return Some(false);
        }
        if letter(part).is_some() {
            return Some(true);
        }
    }
    Some(true)
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod text_tests;
