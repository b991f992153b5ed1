//! nginx's configuration as statements, read as `ngx_conf_read_token` reads it.

use std::iter::Peekable;
use std::str::Chars;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A directive.
    Statement(Statement),
    /// The end of what a directive has between braces.
    End,
}

/// A directive with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The name first.
    pub(super) words: Vec<String>,
    /// A block follows, up to [`Piece::End`].
    pub(super) opens: bool,
    /// Line of its beginning; the first is 1.
    pub(super) line: usize,
}

/// A text that nginx would not take, from this line on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
}

/// The pieces of a text in their order. Nothing follows an error.
pub(super) struct Pieces<'a> {
    letters: Peekable<Chars<'a>>,
    line: usize,
    failed: bool,
}

/// End of a word.
enum Ending {
    Blank,
    Semicolon,
    Brace,
    /// Right behind a quote. It begins the next word.
    Bracket,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Pieces {
            letters: text.chars().peekable(),
            line: 1,
            failed: false,
        }
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.letters.next();
        self.line += usize::from(letter == Some('\n'));
        letter
    }

    /// The next piece; `None` at the end of the text.
    fn piece(&mut self) -> Result<Option<Piece>, SyntaxError> {
        let (mut words, mut line) = (Vec::new(), self.line);
        loop {
            let at = SyntaxError { line: self.line };
            let Some(letter) = self.take() else {
                return if words.is_empty() { Ok(None) } else { Err(at) };
            };
            let ending = match letter {
                '#' => {
                    while self.letters.peek().is_some_and(|letter| *letter != '\n') {
                        self.take();
                    }
                    continue;
                }
                _ if is_blank(letter) => continue,
                ';' | '{' if words.is_empty() => return Err(at),
                '}' => {
                    return if words.is_empty() {
                        Ok(Some(Piece::End))
                    } else {
                        Err(at)
                    };
                }
                ';' => Ending::Semicolon,
                '{' => Ending::Brace,
                first => {
                    line = if words.is_empty() { at.line } else { line };
                    let (word, mut ending) = self.word(first).ok_or(at)?;
                    words.push(word);
                    while let Ending::Bracket = ending {
                        let (word, next) = self.word(')').ok_or(at)?;
                        words.push(word);
                        ending = next;
                    }
                    ending
                }
            };
            let opens = match ending {
                Ending::Blank | Ending::Bracket => continue,
                Ending::Semicolon => false,
                Ending::Brace => true,
            };
            return Ok(Some(Piece::Statement(Statement { words, opens, line })));
        }
    }

    /// The rest of a word that begins so, and what ends it. A quote holds it together only where it begins the word.
    fn word(&mut self, first: char) -> Option<(String, Ending)> {
        let quote = matches!(first, '"' | '\'').then_some(first);
        let mut word = String::new();
        let (mut is_variable, mut pending) = (false, quote.is_none().then_some(first));
        loop {
            let letter = match pending.take() {
                Some(letter) => letter,
                None => self.take()?,
            };
            match (letter, quote) {
                ('{', _) if is_variable => word.push(letter),
                ('\\', _) => self.escape(&mut word)?,
                (_, Some(quote)) if letter == quote => return Some((word, self.after_quote()?)),
                (_, Some(_)) => word.push(letter),
                (';', None) => return Some((word, Ending::Semicolon)),
                ('{', None) => return Some((word, Ending::Brace)),
                (_, None) if is_blank(letter) => return Some((word, Ending::Blank)),
                (_, None) => word.push(letter),
            }
            is_variable = letter == '$';
        }
    }

    fn escape(&mut self, word: &mut String) -> Option<()> {
        match self.take()? {
            letter @ ('"' | '\'' | '\\') => word.push(letter),
            't' => word.push('\t'),
            'r' => word.push('\r'),
            'n' => word.push('\n'),
            other => word.extend(['\\', other]),
        }
        Some(())
    }

    /// Valid continuations after a quote; a bracket ends `if ($a = "b")`.
    fn after_quote(&mut self) -> Option<Ending> {
        match self.take()? {
            ';' => Some(Ending::Semicolon),
            '{' => Some(Ending::Brace),
            ')' => Some(Ending::Bracket),
            letter if is_blank(letter) => Some(Ending::Blank),
            _ => None,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let piece = self.piece();
        self.failed = piece.is_err();
        piece.transpose()
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements as their words between bars, the ends of braces, and the line of what nginx would not take.
    fn read(text: &str) -> Vec<String> {
        let shown = Pieces::new(text).map(|piece| match piece {
            Ok(Piece::Statement(statement)) => {
                let brace = if statement.opens { " {" } else { "" };
                format!("{}{brace}", statement.words.join("|"))
            }
            Ok(Piece::End) => "}".to_owned(),
            Err(SyntaxError { line }) => format!("line {line}?"),
        });
        shown.collect()
    }

    #[test]
    fn statements_end_where_nginx_ends_them() {
        let text = "gzip on; # deny all;\n\nadd_header A 'b; c' ;\nif ($a = \"b c\") { deny all; }";
        assert_eq!(
            read(text),
            [
                "gzip|on",
                "add_header|A|b; c",
                "if|($a|=|b c|) {",
                "deny|all",
                "}"
            ]
        );
        assert_eq!(read("a ${b}c \\; \\\"d \"e\\n\";"), ["a|${b}c|\\;|\"d|e\n"]);
        assert_eq!(read(""), Vec::<String>::new());
    }

    /// A quote inside a word is a letter, and a `#` as well: what follows counts.
    #[test]
    fn nothing_hides_a_directive() {
        assert_eq!(
            read("a b\"c; deny all; d \";"),
            ["a|b\"c", "deny|all", "line 1?"]
        );
        assert_eq!(read("a b#; deny all;"), ["a|b#", "deny|all"]);
        assert_eq!(read("a 'b'; deny all;"), ["a|b", "deny|all"]);
        assert_eq!(read("a '\\'; deny all;"), ["line 1?"]);
    }

    #[test]
    fn what_nginx_would_not_take_is_no_statement() {
        for bad in ["a", "a 'b", "a }", ";", "{", "a 'b'c;", "a;\n}; b"] {
            assert!(
                read(bad)
                    .last()
                    .is_some_and(|last| last.starts_with("line")),
                "{bad}: {:?}",
                read(bad)
            );
        }
        assert_eq!(read("a;\n\nb").last().map(String::as_str), Some("line 3?"));
    }
}
