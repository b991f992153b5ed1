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

use crate::Subject;

const BEGIN: &str = "(?!";
/// Texts that one pattern may exclude.
const MAX_EXCLUDED: usize = 32;
/// Letters of all of them: each makes an alternative with those before it.
const MAX_LETTERS: usize = 100;
/// Groups of texts within groups.
const MAX_DEPTH: usize = 4;

/// A pattern of a path ([`Subject::Path`]) that takes the same and has no lookahead; the pattern itself where there is
/// none, or no other.
#[must_use]
pub fn without_lookahead(pattern: &str) -> Cow<'_, str> {
    let written = crate::within_limit(pattern).and_then(rewritten);
    let written = written.filter(|written| crate::check(written, Subject::Path).is_ok());
    written.map_or(Cow::Borrowed(pattern), Cow::Owned)
}

fn rewritten(pattern: &str) -> Option<String> {
    let (head, mut rest) = pattern.split_at(position(pattern)?);
    let (mut tree, mut groups) = (Tree::default(), 0);
    let mut needs_letter = false;
    while let Some(body) = rest.strip_prefix(BEGIN) {
        let mut parser = LookaheadParser {
            rest: body,
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

/// A text in lower case that must not follow.
#[derive(Clone, Default)]
struct Excluded {
    text: String,
    /// Only the text itself, not what begins with it.
    is_whole: bool,
}

/// Parser of what a lookahead has in it: a few texts.
struct LookaheadParser<'p> {
    rest: &'p str,
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
                // All that goes on is excluded anyway.
                return self.rest.starts_with(['|', ')']).then_some(texts);
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
        is_itself.then(|| Excluded {
            text: letter.to_ascii_lowercase().to_string(),
            is_whole: false,
        })
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// Each of the texts, followed by each of the others. Nothing follows an end.
fn joined(texts: &[Excluded], others: &[Excluded]) -> Option<Vec<Excluded>> {
    if texts.len() * others.len() > MAX_EXCLUDED || texts.iter().any(|text| text.is_whole) {
        return None;
    }
    let pairs = texts.iter().flat_map(|first| {
        others.iter().map(|next| Excluded {
            text: format!("{}{}", first.text, next.text),
            is_whole: next.is_whole,
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
mod tests {
    use super::*;

    /// Every text of up to so many of these letters.
    fn texts(letters: &str, longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut begin = 0;
        for _ in 0..longest {
            let end = all.len();
            for at in begin..end {
                all.extend(
                    letters
                        .chars()
                        .map(|letter| format!("{}{letter}", all[at]))
                        .collect::<Vec<_>>(),
                );
            }
            begin = end;
        }
        all
    }

    fn groups(captures: &[Option<&str>]) -> Vec<String> {
        captures
            .iter()
            .map(|group| group.unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn the_same_is_taken_and_captured() {
        let paths: Vec<String> = texts("aB/c", 6)
            .into_iter()
            .chain(texts("aB\n", 6))
            .map(|text| format!("/{text}"))
            .collect();
        for pattern in [
            "/(?!a)",
            "/(?!ab).*",
            "/(?!ab|c)(.*)",
            "^/(?!ab)(.*)$",
            "/((?!ab|abc|b).*)",
            "/(?!(ab|c)(/|$))(.*)",
            "/(?!(?:ab|c)(?:/|$)).*",
            "/(?!a$|b/).+",
            "/(?!a$)(.+)",
            "/(?!AB.*)(.*)",
            "/(?!a)(?!bc)(.*)",
            "/c(/|$)(?!ab)(.*)",
            "/(a|(?!c).*)",
            "/(?!a(b(c|a)|c))(.*)$",
            "/a|/(?!b).*",
            "/(?!$)(.*)",
            r"/(?!ab/cab/cab/cab/cab\.(?:a|b))(.*)",
        ] {
            let written = without_lookahead(pattern);
            assert!(!written.contains(BEGIN), "{pattern}: {written}");
            // PCRE's end is in front of a last line break, too.
            let as_nginx =
                |pattern: &str| format!("(?i)^(?:{})", pattern.replace('$', r"(?=\n?\z)"));
            let original = fancy_regex::Regex::new(&as_nginx(pattern)).unwrap();
            let other = fancy_regex::Regex::new(&as_nginx(&written)).unwrap();
            for path in &paths {
                let [expected, got] = [&original, &other].map(|regex| {
                    let found = regex.captures(path).unwrap()?;
                    let groups: Vec<_> = (1..found.len())
                        .map(|n| found.get(n).map(|group| group.as_str()))
                        .collect();
                    // A group may go on behind a line break.
                    let is_compared = !path.contains('\n');
                    Some(self::groups(&groups))
                        .filter(|_| is_compared)
                        .or(Some(Vec::new()))
                });
                assert_eq!(got, expected, "{pattern}: {written}: {path}");
            }
        }
    }

    #[test]
    fn a_tree_has_the_letters_that_make_the_difference() {
        assert_eq!(
            without_lookahead("/(?!api|v1(/|$))(.*)"),
            r"/()((?:$|[^av]|a$|a[^p]|ap$|ap[^i]|v$|v[^1]|v1[^\/\n]|v1\n(?:.|\n)).*)"
        );
    }

    #[test]
    fn what_needs_lookahead_keeps_it() {
        for pattern in [
            "/a",
            "/(?=a).*",
            "/(?<!a)b",
            "/(?!a)b",
            "/(?!a).*b",
            "/(?!a)(.*)/b",
            "/((?!a).)*",
            "/((?!a).*)+",
            "/(?!a+).*",
            "/(?![ab]).*",
            "/(?!.*a).*",
            "/(?!a).*?",
            "/(?!).*",
            "/(?!a",
            "/(?!a|",
            "/(?!é).*",
            "/(?!a$b).*",
            "/(?-i:(?!a).*)",
            r"/\(?!a\).*",
            "/[(?!a)].*",
            "/(?!a)|/b",
            "/(?!a)(b|.*)",
            "/((?!a))",
            r"/(?!\w).*",
            "/(?!(((((a)))))).*",
            "/(?!(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)).*",
            &format!("/(?!{}).*", "a".repeat(60)),
            &format!("/(?!{}).*", "a".repeat(101)),
        ] {
            assert_eq!(without_lookahead(pattern), pattern);
        }
    }
}
