//! Directives as words, without comments and continued lines.

use super::SecLangError;

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) words: Vec<Word>,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text inside of its quotes, where a backslash stays in front of a quote.
    pub(super) text: String,
    pub(super) is_quoted: bool,
}

/// The text as nginx reads it inside of single quotes.
pub(super) fn unquoted(text: &str) -> String {
    let mut unquoted = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters.next_if(|next| letter == '\\' && matches!(next, '"' | '\'' | '\\'));
        unquoted.push(escaped.unwrap_or(letter));
    }
    unquoted.replace("\r\n", "\n")
}

/// All directives, until the first that cannot be read.
pub(super) fn statements(text: &str) -> impl Iterator<Item = Result<Words, SecLangError>> {
    let mut reader = Reader {
        rest: text,
        line: 1,
        has_failed: false,
    };
    std::iter::from_fn(move || reader.next())
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    has_failed: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Result<Words, SecLangError>> {
        loop {
            self.skip_blanks();
            match self.rest.chars().next() {
                _ if self.has_failed => return None,
                None => return None,
                Some('\n') => self.advance(1),
                Some('#') => self.skip_comment(),
                Some(_) => break,
            }
        }
        let line = self.line;
        let all = self.words().map_err(|reason| SecLangError { line, reason });
        self.has_failed = all.is_err();
        Some(all.map(|mut words| {
            let name = words.remove(0).text;
            Words { line, name, words }
        }))
    }

    /// At least one word, up to the end of the line.
    fn words(&mut self) -> Result<Vec<Word>, String> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.rest.chars().next() {
                None | Some('\n') => return Ok(words),
                Some('"') if words.is_empty() => {
                    return Err("expected a directive, got a quote".to_owned());
                }
                Some('"') => words.push(self.quoted()?),
                Some(_) => words.push(self.bare()?),
            }
        }
    }

    fn quoted(&mut self) -> Result<Word, String> {
        self.advance(1);
        let mut text = String::new();
        loop {
            let mut letters = self.rest.chars();
            match (letters.next(), letters.next()) {
                (Some('"'), _) => {
                    self.advance(1);
                    return Ok(Word {
                        text,
                        is_quoted: true,
                    });
                }
                (Some('\\'), Some('\n')) => {
                    text.truncate(text.trim_end_matches([' ', '\t']).len());
                    self.advance(2);
                    self.rest = self.rest.trim_start_matches([' ', '\t']);
                }
                (Some('\\'), Some(next)) => {
                    text.extend(['\\', next]);
                    self.advance(1 + next.len_utf8());
                }
                (None | Some('\n'), _) | (Some('\\'), None) => {
                    return Err("expected a quote at the end of a text".to_owned());
                }
                (Some(letter), _) => {
                    text.push(letter);
                    self.advance(letter.len_utf8());
                }
            }
        }
    }

    fn bare(&mut self) -> Result<Word, String> {
        let end = self.rest.find([' ', '\t', '\n']).unwrap_or(self.rest.len());
        let text = self.rest[..end].to_owned();
        if text.contains('"') {
            return Err("expected a blank before a quote".to_owned());
        }
        self.advance(end);
        Ok(Word {
            text,
            is_quoted: false,
        })
    }

    /// Blanks and continued lines.
    fn skip_blanks(&mut self) {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r']).len();
            self.advance(blanks);
            if !self.rest.starts_with("\\\n") {
                return;
            }
            self.advance(2);
        }
    }

    /// A rule that is a comment continues as rules do, other comments do not.
    fn skip_comment(&mut self) {
        let text = self
            .rest
            .trim_start_matches('#')
            .trim_start_matches([' ', '\t']);
        let lower: String = text
            .chars()
            .take(9)
            .collect::<String>()
            .to_ascii_lowercase();
        let continues = lower.starts_with("secrule") || lower.starts_with("secaction");
        loop {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let is_continued = self.rest[..end]
                .trim_end_matches([' ', '\t'])
                .ends_with('\\');
            self.advance(end);
            if !(continues && is_continued) || self.rest.is_empty() {
                return;
            }
            self.advance(1);
        }
    }

    fn advance(&mut self, bytes: usize) {
        let (read, rest) = self.rest.split_at(bytes);
        self.line += read.matches('\n').count();
        self.rest = rest;
    }
}
