//! Lookahead that only excludes texts, as the pattern without lookahead that takes the same paths.
//!
//! ```text
//!   /(?!api|v1(/|$))(.*)    behind the slash is neither "api" nor the segment "v1":
//!   /()((?:$|[^av]|a$|a[^p]|ap$|ap[^i]|v$|v[^1]|v1[^\/\n]|v1\n(?:.|\n)).*)
//! ```
//!
//! RE2 has no lookahead, and the filter's backtracking engine costs every request of a host. Where nothing but `.*` follows one that
//! excludes a few texts, a tree of their letters says the same; where a path has a line break, its groups may hold more.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{Subject, with_flags_in_groups};

const BEGIN: &str = "(?!";
/// Texts that one pattern may exclude.
const MAX_EXCLUDED: usize = 32;
/// Letters of all of them: each makes an alternative with those before it.
const MAX_LETTERS: usize = 100;
/// Groups of texts within groups.
const MAX_DEPTH: usize = 4;

/// A pattern of a path that takes the same and has no lookahead; the pattern itself where there is none, or no other.
#[must_use]
pub fn without_lookahead(pattern: &str, subject: Subject) -> Cow<'_, str> {
    let any_case = pattern.starts_with("(?i)") || !matches!(subject, Subject::InPath);
    // Of a flag elsewhere it is not known how far it reaches.
    let is_known = any_case || !pattern.contains("(?i");
    let written = crate::within_limit(pattern).filter(|_| is_known);
    let written = written.and_then(|pattern| rewritten(pattern, any_case));
    let written = written.filter(|it| crate::check(&with_flags_in_groups(it), subject).is_ok());
    written.map_or(Cow::Borrowed(pattern), Cow::Owned)
}

fn rewritten(pattern: &str, any_case: bool) -> Option<String> {
    let (head, mut rest) = pattern.split_at(position(pattern)?);
    let (mut tree, mut groups) = (Tree::default(), 0);
    let mut needs_letter = false;
    while let Some(body) = rest.strip_prefix(BEGIN) {
        let mut parser = LookaheadParser {
            rest: body,
            any_case,
            groups: 0,
        };
        for excluded in parser.alternatives(0)? {
            tree.exclude(&excluded);
        }
        rest = parser.rest.strip_prefix(')')?;
        groups += parser.groups;
    }
    let (opening, rest) = match rest.strip_prefix('(') {
        Some(inner) => ("(", inner),
        None => ("", rest),
    };
    let (any, rest) = if let Some(rest) = rest.strip_prefix(".*") {
        (".*", rest)
    } else if let Some(rest) = rest.strip_prefix(".+") {
        needs_letter = true;
        (".*", rest)
    } else {
        ("", rest)
    };
    // What follows gives no letter back; what has no `.*` would be captured too long.
    let ends = match any {
        "" => opening.is_empty() && rest.is_empty(),
        _ => rest.chars().all(|letter| matches!(letter, ')' | '$')),
    };
    let style = Style {
        needs_letter,
        is_anchored: rest.contains('$'),
    };
    let left = tree.pattern(style).filter(|_| ends)?;
    // Groups within the lookahead are empty, but counted.
    let groups = "()".repeat(groups);
    Some(format!("{head}{groups}{opening}{left}{any}{rest}"))
}

/// The first lookahead that is neither escaped nor in a class; `None` also where letters may have a case.
fn position(pattern: &str) -> Option<usize> {
    let (mut in_class, mut escaped) = (false, false);
    for (at, letter) in pattern.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        let rest = pattern.get(at..)?;
        match letter {
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && rest.starts_with("(?-") => return None,
            '(' if !in_class && rest.starts_with(BEGIN) => return Some(at),
            _ => {}
        }
    }
    None
}

/// A text that must not follow; in lower case where the case is of no account.
#[derive(Clone, Default)]
struct Excluded {
    text: String,
    /// Only the text itself, not what begins with it.
    is_whole: bool,
    /// `.*` is behind it: nothing can follow that is excluded alone.
    goes_on: bool,
}

/// Parser of what a lookahead has in it: a few texts.
struct LookaheadParser<'p> {
    rest: &'p str,
    any_case: bool,
    /// Capturing groups so far.
    groups: usize,
}

impl LookaheadParser<'_> {
    fn alternatives(&mut self, depth: usize) -> Option<Vec<Excluded>> {
        let mut all = self.sequence(depth)?;
        while self.take("|") {
            all.extend(self.sequence(depth)?);
        }
        let letters: usize = all.iter().map(|one| one.text.len()).sum();
        let is_small = all.len() <= MAX_EXCLUDED && letters <= MAX_LETTERS;
        (is_small && depth <= MAX_DEPTH).then_some(all)
    }

    fn sequence(&mut self, depth: usize) -> Option<Vec<Excluded>> {
        let mut texts = vec![Excluded::default()];
        while !self.rest.starts_with(['|', ')']) {
            if self.take(".*") {
                // All that goes on is excluded anyway, unless more is said behind the group.
                texts.iter_mut().for_each(|text| text.goes_on = true);
                let is_end =
                    self.rest.starts_with(['|', ')']) && !texts.iter().any(|it| it.is_whole);
                return is_end.then_some(texts);
            }
            let next = if self.take("(") {
                self.groups += usize::from(!self.take("?:"));
                let inner = self.alternatives(depth + 1)?;
                self.take(")").then_some(inner)?
            } else {
                vec![self.one()?]
            };
            if self.rest.starts_with(['*', '+', '?', '{']) {
                return None;
            }
            texts = joined(&texts, &next)?;
        }
        Some(texts)
    }

    /// A letter, or the end.
    fn one(&mut self) -> Option<Excluded> {
        if self.take("$") {
            return Some(Excluded {
                is_whole: true,
                ..Excluded::default()
            });
        }
        let is_escaped = self.take("\\");
        let letter = self.rest.chars().next().filter(char::is_ascii_graphic)?;
        let is_itself = if is_escaped {
            letter.is_ascii_punctuation()
        } else {
            !regex_syntax::is_meta_character(letter) || letter == '-'
        };
        self.rest = self.rest.get(1..)?;
        let letter = match self.any_case {
            true => letter.to_ascii_lowercase(),
            false => letter,
        };
        is_itself.then(|| Excluded {
            text: letter.to_string(),
            ..Excluded::default()
        })
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// Each of the texts, followed by each of the others. Nothing follows an end, or whatever goes on.
fn joined(texts: &[Excluded], others: &[Excluded]) -> Option<Vec<Excluded>> {
    let is_last = |text: &Excluded| text.is_whole || text.goes_on;
    if texts.len() * others.len() > MAX_EXCLUDED || texts.iter().any(is_last) {
        return None;
    }
    let pairs = texts.iter().flat_map(|first| {
        others.iter().map(|next| Excluded {
            text: format!("{}{}", first.text, next.text),
            is_whole: next.is_whole,
            goes_on: next.goes_on,
        })
    });
    Some(pairs.collect())
}

/// Texts that may follow, letter by letter.
struct Tree {
    children: BTreeMap<char, Tree>,
    may_end: bool,
    may_go_on: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Tree {
            children: BTreeMap::new(),
            may_end: true,
            may_go_on: true,
        }
    }
}

impl Tree {
    fn exclude(&mut self, excluded: &Excluded) {
        let mut place = self;
        for letter in excluded.text.chars() {
            place = place.children.entry(letter).or_default();
        }
        place.may_end = false;
        place.may_go_on &= excluded.is_whole;
    }

    /// A pattern of what may follow, up to the first letter that makes the difference; `None`: nothing may.
    fn pattern(&self, style: Style) -> Option<String> {
        let mut alternatives = Vec::new();
        self.write("", style, &mut alternatives);
        (!alternatives.is_empty()).then(|| format!("(?:{})", alternatives.join("|")))
    }

    /// Groups in groups would be too deep for a word.
    fn write(&self, before: &str, style: Style, alternatives: &mut Vec<String>) {
        if self.may_end && !style.needs_letter {
            alternatives.push(format!("{before}$"));
        }
        if !self.may_go_on {
            return;
        }
        let letters = self.children.keys().map(|letter| escaped(*letter));
        let letters: String = letters.collect();
        // `.` is no line break, and the end of an excluded text may be in front of a last one.
        let may_break = !style.needs_letter && !style.is_anchored;
        alternatives.push(match (letters.as_str(), may_break && self.may_end) {
            ("", true) => format!(r"{before}(?:.|\n)"),
            ("", false) => format!("{before}."),
            (letters, true) => format!("{before}[^{letters}]"),
            (letters, false) => format!(r"{before}[^{letters}\n]"),
        });
        if may_break && !self.may_end {
            alternatives.push(format!(r"{before}\n(?:.|\n)"));
        }
        let style = Style {
            needs_letter: false,
            ..style
        };
        for (letter, child) in &self.children {
            child.write(
                &format!("{before}{}", escaped(*letter)),
                style,
                alternatives,
            );
        }
    }
}

/// Pattern behind a lookahead.
#[derive(Clone, Copy)]
struct Style {
    /// `.+`
    needs_letter: bool,
    /// It ends with the path.
    is_anchored: bool,
}

fn escaped(letter: char) -> String {
    if letter.is_ascii_punctuation() {
        format!("\\{letter}")
    } else {
        letter.to_string()
    }
}

#[cfg(test)]
mod tests;
