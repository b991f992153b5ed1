//! Tokens of a pattern, also of syntax that the parser does not know: lookaround, atomic groups, possessive repetitions.

use std::ops::Range;

/// The tokens of a pattern.
pub(crate) struct Tokens<'p> {
    pattern: &'p str,
    tokens: Vec<(Range<usize>, Kind)>,
    /// For each token the groups around it, from the outermost.
    around: Vec<Vec<usize>>,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `(`, with the text that says which kind of group it is: `(?=`.
    Open,
    /// `)`
    Close,
    /// `|`
    Either,
    /// A character, with a backslash if it has one, or a class.
    Other,
}

/// Kind of a lookaround.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookaround {
    pub(crate) is_behind: bool,
    pub(crate) is_negative: bool,
}

impl<'p> Tokens<'p> {
    /// `None`: there are flags for the rest of a group, or it is not closed.
    pub(crate) fn parse(pattern: &'p str) -> Option<Self> {
        let (mut tokens, mut around) = (Vec::new(), Vec::new());
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(rest) = pattern.get(at..).filter(|rest| !rest.is_empty()) {
            let (length, kind) = first(rest)?;
            if kind == Kind::Close {
                open.pop()?;
            }
            around.push(open.clone());
            if kind == Kind::Open {
                open.push(tokens.len());
            }
            tokens.push((at..at + length, kind));
            at += length;
        }
        open.is_empty().then_some(Tokens {
            pattern,
            tokens,
            around,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Text of a token; empty behind the last one.
    pub(crate) fn text(&self, token: usize) -> &'p str {
        let range = self.tokens.get(token).map(|(range, _)| range.clone());
        range
            .and_then(|range| self.pattern.get(range))
            .unwrap_or_default()
    }

    /// Text of several tokens.
    pub(crate) fn range(&self, tokens: Range<usize>) -> &'p str {
        let begin = |token: usize| {
            let token = self.tokens.get(token);
            token.map_or(self.pattern.len(), |(range, _)| range.start)
        };
        let text = begin(tokens.start)..begin(tokens.end);
        self.pattern.get(text).unwrap_or_default()
    }

    pub(crate) fn is(&self, token: usize, kind: Kind) -> bool {
        self.tokens
            .get(token)
            .is_some_and(|(_, known)| *known == kind)
    }

    /// Kind of the lookaround that a token opens, if it opens one.
    pub(crate) fn lookaround(&self, token: usize) -> Option<Lookaround> {
        let (is_behind, is_negative) = match self.text(token) {
            "(?=" => (false, false),
            "(?!" => (false, true),
            "(?<=" => (true, false),
            "(?<!" => (true, true),
            _ => return None,
        };
        Some(Lookaround {
            is_behind,
            is_negative,
        })
    }

    /// Groups around a token, from the outermost.
    pub(crate) fn around(&self, token: usize) -> Vec<usize> {
        self.around.get(token).cloned().unwrap_or_default()
    }

    /// The token that closes a group.
    pub(crate) fn partner(&self, open: usize) -> Option<usize> {
        let around = self.around.get(open)?;
        (open + 1..self.len())
            .find(|token| self.is(*token, Kind::Close) && self.around.get(*token) == Some(around))
    }

    /// True of the token that begins a quantifier.
    pub(crate) fn is_count(&self, token: usize) -> bool {
        self.is(token, Kind::Other) && self.text(token).starts_with(['*', '+', '?', '{'])
    }

    /// True if the rest of the pattern is `$`, and ends of groups.
    pub(crate) fn is_end(&self, token: usize) -> bool {
        let rest = self.range(token..self.len()).trim_matches(')');
        rest == "$"
    }

    /// Number of capturing groups.
    pub(crate) fn captures(&self, tokens: Range<usize>) -> usize {
        tokens
            .filter(|token| self.is(*token, Kind::Open) && self.text(*token) == "(")
            .count()
    }

    /// Text of tokens in which no group captures, without some of them.
    pub(crate) fn uncaptured(&self, tokens: Range<usize>, without: &[usize]) -> String {
        let text = |token: usize| match self.text(token) {
            "(" if self.is(token, Kind::Open) => "(?:",
            text => text,
        };
        tokens
            .filter(|token| !without.contains(token))
            .map(text)
            .collect()
    }
}

/// Length and kind of the first token.
fn first(text: &str) -> Option<(usize, Kind)> {
    let letter = text.chars().next()?;
    let token = match letter {
        '(' => (opening(text)?, Kind::Open),
        ')' => (1, Kind::Close),
        '|' => (1, Kind::Either),
        '\\' => (1 + text.chars().nth(1)?.len_utf8(), Kind::Other),
        '[' => (class_length(text)?, Kind::Other),
        letter => (letter.len_utf8(), Kind::Other),
    };
    Some(token)
}

fn opening(text: &str) -> Option<usize> {
    let known = ["(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"];
    let kind = known.into_iter().find(|kind| text.starts_with(kind));
    match kind {
        Some(kind) => Some(kind.len()),
        None => (!text.starts_with("(?") && !text.starts_with("(*")).then_some(1),
    }
}

/// Length of a class at the beginning of a text. A bracket that is the first of a class is one of its characters.
pub(crate) fn class_length(text: &str) -> Option<usize> {
    let mut at = 1 + usize::from(text.starts_with("[^"));
    let begin = at;
    loop {
        let rest = text.get(at..)?;
        let letter = rest.chars().next()?;
        at += match letter {
            '\\' => 1 + rest.chars().nth(1)?.len_utf8(),
            '[' if rest.starts_with("[:") => rest.find(":]")? + 2,
            ']' if at > begin => return Some(at + 1),
            letter => letter.len_utf8(),
        };
    }
}
