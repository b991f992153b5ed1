//! Patterns in pieces that are read as one: what the parser does not know can be in them.

use std::ops::Range;

/// A pattern in pieces.
pub(crate) struct Pieces<'p> {
    pattern: &'p str,
    pieces: Vec<(Range<usize>, Kind)>,
    /// For each piece the groups that it is in, from the outermost.
    around: Vec<Vec<usize>>,
}

/// Kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `(`, and whatever says of which kind the group is.
    Open,
    /// `)`
    Close,
    /// `|`
    Either,
    /// A character, with a backslash if it has one, or a class.
    Other,
}

impl<'p> Pieces<'p> {
    /// `None`: there are flags for the rest of a group, or it is not closed.
    pub(crate) fn parse(pattern: &'p str) -> Option<Self> {
        let (mut pieces, mut around) = (Vec::new(), Vec::new());
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(rest) = pattern.get(at..).filter(|rest| !rest.is_empty()) {
            let (length, kind) = first(rest)?;
            if kind == Kind::Close {
                open.pop()?;
            }
            around.push(open.clone());
            if kind == Kind::Open {
                open.push(pieces.len());
            }
            pieces.push((at..at + length, kind));
            at += length;
        }
        open.is_empty().then_some(Pieces {
            pattern,
            pieces,
            around,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Empty behind the last one.
    pub(crate) fn text(&self, piece: usize) -> &'p str {
        let range = self.pieces.get(piece).map(|(range, _)| range.clone());
        range
            .and_then(|range| self.pattern.get(range))
            .unwrap_or_default()
    }

    /// Text of several of them.
    pub(crate) fn range(&self, pieces: Range<usize>) -> &'p str {
        let begin = |piece: usize| {
            let piece = self.pieces.get(piece);
            piece.map_or(self.pattern.len(), |(range, _)| range.start)
        };
        let text = begin(pieces.start)..begin(pieces.end);
        self.pattern.get(text).unwrap_or_default()
    }

    pub(crate) fn is(&self, piece: usize, kind: Kind) -> bool {
        self.pieces
            .get(piece)
            .is_some_and(|(_, known)| *known == kind)
    }

    /// Groups that it is in, from the outermost.
    pub(crate) fn around(&self, piece: usize) -> Vec<usize> {
        self.around.get(piece).cloned().unwrap_or_default()
    }

    /// The piece that closes a group.
    pub(crate) fn partner(&self, open: usize) -> Option<usize> {
        let around = self.around.get(open)?;
        (open + 1..self.len())
            .find(|piece| self.is(*piece, Kind::Close) && self.around.get(*piece) == Some(around))
    }

    /// True if it says how often something is there.
    pub(crate) fn is_count(&self, piece: usize) -> bool {
        self.is(piece, Kind::Other) && self.text(piece).starts_with(['*', '+', '?', '{'])
    }

    /// True if there is the end of a subject and nothing else from here on, but for ends of groups.
    pub(crate) fn is_end(&self, piece: usize) -> bool {
        let rest = self.range(piece..self.len()).trim_matches(')');
        rest == "$"
    }

    /// Number of groups that capture.
    pub(crate) fn captures(&self, pieces: Range<usize>) -> usize {
        pieces
            .filter(|piece| self.is(*piece, Kind::Open) && self.text(*piece) == "(")
            .count()
    }

    /// The text of some, in which no group captures; without some others.
    pub(crate) fn uncaptured(&self, pieces: Range<usize>, without: &[usize]) -> String {
        let text = |piece: usize| match self.text(piece) {
            "(" if self.is(piece, Kind::Open) => "(?:",
            text => text,
        };
        pieces
            .filter(|piece| !without.contains(piece))
            .map(text)
            .collect()
    }
}

/// Length and kind of the first piece.
fn first(text: &str) -> Option<(usize, Kind)> {
    let letter = text.chars().next()?;
    let piece = match letter {
        '(' => (opening(text)?, Kind::Open),
        ')' => (1, Kind::Close),
        '|' => (1, Kind::Either),
        '\\' => (1 + text.chars().nth(1)?.len_utf8(), Kind::Other),
        '[' => (class_length(text)?, Kind::Other),
        letter => (letter.len_utf8(), Kind::Other),
    };
    Some(piece)
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
