//! nginx's configuration as statements, read as `ngx_conf_read_token` reads it.

use std::iter::Peekable;
use std::str::Chars;

/// A statement, or the end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum Piece {
    /// A directive.
    Statement(Statement),
    /// The end of a directive's block.
    End,
}

/// A directive with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) struct Statement {
    /// The name first.
    pub(in crate::snippet) words: Vec<String>,
    /// A block follows, up to [`Piece::End`].
    pub(in crate::snippet) opens: bool,
    /// Line of its beginning; the first is 1.
    pub(in crate::snippet) line: usize,
    /// The text without what ends it.
    pub(in crate::snippet) written: String,
}

/// nginx would refuse the text at this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::snippet) struct SyntaxError {
    pub(in crate::snippet) line: usize,
    /// Reason of nginx's.
    pub(in crate::snippet) why: &'static str,
}

/// A directive that nothing ends.
const ENDLESS: &str = "a directive does not end with a semicolon";
/// A quote is not closed, or something that belongs to the next word is right behind it.
const QUOTES: &str = "a directive or a quote does not end, or a quote ends within a word";

/// The pieces of a text in their order. Nothing follows an error.
pub(in crate::snippet) struct Pieces<'a> {
    text: &'a str,
    letters: Peekable<Chars<'a>>,
    /// Bytes that are read.
    offset: usize,
    line: usize,
    /// A block of Lua is open.
    in_lua: bool,
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
    pub(in crate::snippet) fn new(text: &'a str) -> Self {
        Pieces {
            text,
            letters: text.chars().peekable(),
            offset: 0,
            line: 1,
            in_lua: false,
            failed: false,
        }
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.letters.next();
        self.offset += letter.map_or(0, char::len_utf8);
        self.line += usize::from(letter == Some('\n'));
        letter
    }

    /// The next piece; `None` at the end of the text.
    fn piece(&mut self) -> Result<Option<Piece>, SyntaxError> {
        if std::mem::take(&mut self.in_lua) {
            let at = self.error("a block of Lua does not end");
            return self.end_of_lua().map(|()| Some(Piece::End)).ok_or(at);
        }
        let (mut words, mut line, mut begin) = (Vec::new(), self.line, self.offset);
        loop {
            let at = self.error(QUOTES);
            let Some(letter) = self.take() else {
                return self.end_of(&words, None);
            };
            let ending = match letter {
                '#' => {
                    while self.letters.peek().is_some_and(|letter| *letter != '\n') {
                        self.take();
                    }
                    continue;
                }
                _ if is_blank(letter) => continue,
                ';' | '{' if words.is_empty() => {
                    return Err(self.error("no directive before a semicolon or a brace"));
                }
                '}' => return self.end_of(&words, Some(Piece::End)),
                ';' => Ending::Semicolon,
                '{' => Ending::Brace,
                first => {
                    if words.is_empty() {
                        (line, begin) = (at.line, self.offset - first.len_utf8());
                    }
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
            self.in_lua = opens && words.first().is_some_and(|name| is_lua_block(name));
            let written = self.text.get(begin..self.offset - 1).unwrap_or_default();
            return Ok(Some(Piece::Statement(Statement {
                words,
                opens,
                line,
                written: written.trim_end().to_owned(),
            })));
        }
    }

    /// The end of a block or of the text, behind these words.
    fn end_of(&self, words: &[String], piece: Option<Piece>) -> Result<Option<Piece>, SyntaxError> {
        match words {
            [] => Ok(piece),
            _ => Err(self.error(ENDLESS)),
        }
    }

    fn error(&self, why: &'static str) -> SyntaxError {
        let line = self.line;
        SyntaxError { line, why }
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

    /// Skips Lua up to the brace that ends its block: braces in texts and comments are none. Nothing with Lua in it is served, so
    /// it does no harm to be wrong.
    fn end_of_lua(&mut self) -> Option<()> {
        let mut open = 1_usize;
        loop {
            match self.take()? {
                '{' => open += 1,
                '}' => open -= 1,
                quote @ ('"' | '\'') => self.end_of_lua_text(quote)?,
                '-' if self.letters.peek() == Some(&'-') => {
                    self.take();
                    if self.letters.peek() != Some(&'[') || !self.skip_long_bracket()? {
                        while self.letters.peek().is_some_and(|letter| *letter != '\n') {
                            self.take();
                        }
                    }
                }
                _ if self.letters.peek() == Some(&'[') => drop(self.skip_long_bracket()?),
                _ => {}
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    fn end_of_lua_text(&mut self, quote: char) -> Option<()> {
        loop {
            match self.take()? {
                '\\' => drop(self.take()?),
                letter if letter == quote => return Some(()),
                _ => {}
            }
        }
    }

    /// Skips `[[...]]` or `[=[...]=]`, if the next bracket begins one.
    fn skip_long_bracket(&mut self) -> Option<bool> {
        let rest = self.text.get(self.offset..)?;
        let level = rest.get(1..)?.find(|letter| letter != '=')?;
        if rest.as_bytes().get(1 + level) != Some(&b'[') {
            return Some(false);
        }
        let end = format!("]{}]", "=".repeat(level));
        let length = rest.find(&end)? + end.len();
        let target = self.offset + length;
        while self.offset < target {
            self.take()?;
        }
        Some(true)
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

/// True if the block of a directive is Lua: `access_by_lua_block`.
pub(super) fn is_lua_block(name: &str) -> bool {
    name.ends_with("_by_lua_block")
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
            Err(SyntaxError { line, .. }) => format!("line {line}?"),
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
    fn a_statement_is_quoted_as_it_stands() {
        let text =
            "  add_header  A \"b\\.c\" ; if ( $a ~ \"x\" ) { deny 'all'; }\nreturn 200 \"a\nb\";";
        let written: Vec<String> = Pieces::new(text)
            .filter_map(|piece| match piece {
                Ok(Piece::Statement(statement)) => Some(statement.written),
                _ => None,
            })
            .collect();
        assert_eq!(
            written,
            [
                "add_header  A \"b\\.c\"",
                "if ( $a ~ \"x\" )",
                "deny 'all'",
                "return 200 \"a\nb\""
            ]
        );
    }

    #[test]
    fn a_block_of_lua_ends_where_its_braces_do() {
        for lua in [
            "local a = {}; ngx.exit(403)",
            "local a = '}' .. \"\\\"}\"",
            "-- }\nreturn {a = {}}",
            "--[[ } ]] a = [==[ }}} ]] ]==]",
            "",
        ] {
            let text = format!("access_by_lua_block {{{lua}}}\ndeny all;");
            assert_eq!(
                read(&text),
                ["access_by_lua_block {", "}", "deny|all"],
                "{lua}"
            );
        }
        assert_eq!(
            read("access_by_lua_block { local a = {}")
                .last()
                .map(String::as_str),
            Some("line 1?")
        );
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
