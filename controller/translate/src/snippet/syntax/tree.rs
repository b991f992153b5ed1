//! A snippet as directives within directives.

use std::borrow::Cow;

use sluice_syntax::excerpt;

use super::statements::{Piece, Pieces, Statement, SyntaxError};
use crate::snippet::error::SnippetError;

/// Blocks within blocks.
const MAX_DEPTH: usize = 4;

/// A directive and its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) struct Directive {
    /// The name first.
    pub(in crate::snippet) words: Vec<String>,
    pub(in crate::snippet) line: usize,
    pub(in crate::snippet) block: Option<Vec<Directive>>,
    /// The text, without its block.
    written: String,
}

impl Directive {
    /// Name and arguments.
    pub(in crate::snippet) fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    pub(in crate::snippet) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The same directive in other words and with another block; errors quote it as it was written.
    pub(in crate::snippet) fn in_other_words(
        &self,
        words: Vec<String>,
        block: Vec<Directive>,
    ) -> Self {
        Directive {
            words,
            block: Some(block),
            ..self.clone()
        }
    }

    /// Other words in its place, without a block.
    pub(in crate::snippet) fn without_block(&self, words: Vec<String>) -> Self {
        Directive {
            words,
            block: None,
            ..self.clone()
        }
    }

    /// Checks that it does not make too many of something.
    pub(in crate::snippet) fn at_most(
        &self,
        count: usize,
        most: usize,
        what: &str,
    ) -> Result<(), SnippetError> {
        if count <= most {
            return Ok(());
        }
        let reason = format!("expected at most {most} {what}");
        Err(SnippetError::new(self.line, reason))
    }

    /// It cannot be served, for this reason.
    pub(in crate::snippet) fn because(&self, reason: impl Into<Cow<'static, str>>) -> SnippetError {
        SnippetError {
            directive: Some(self.words.clone()),
            ..SnippetError::new(self.line, reason)
        }
    }

    /// As [`Directive::unsupported`], with the reason.
    pub(in crate::snippet) fn unsupported_for(&self, why: &str) -> SnippetError {
        let written = excerpt(&self.written);
        self.because(format!("`{written}` is not supported: {why}"))
    }

    /// It cannot be served, or not with these arguments.
    pub(in crate::snippet) fn unsupported(&self) -> SnippetError {
        let written = excerpt(&self.written);
        let reason = if is_lua(self.name()) {
            format!("`{}` is not supported: Lua is not served", self.name())
        } else {
            format!("`{written}` is not supported")
        };
        self.because(reason)
    }
}

/// True of a directive of the Lua module.
fn is_lua(name: &str) -> bool {
    name.contains("_by_lua") || name.starts_with("lua_")
}

/// Reason of a brace at the end of nothing.
const NOT_OPEN: &str = "a brace closes nothing";

/// The directives of a text.
pub(in crate::snippet) fn directives(text: &str) -> Result<Vec<Directive>, SnippetError> {
    let mut open: Vec<Directive> = Vec::new();
    let mut all = Vec::new();
    let mut line = 1;
    for piece in Pieces::new(text) {
        let finished = match piece {
            Err(SyntaxError { line, why }) => return Err(SnippetError::syntax(line, why)),
            Ok(Piece::End) => open
                .pop()
                .ok_or_else(|| SnippetError::syntax(line, NOT_OPEN))?,
            Ok(Piece::Statement(statement)) => {
                line = statement.line;
                let directive = Directive {
                    words: statement.words,
                    line,
                    block: statement.opens.then(Vec::new),
                    written: statement.written,
                };
                if directive.block.is_some() {
                    open.push(directive);
                    if open.len() > MAX_DEPTH {
                        let reason = format!("blocks are nested more than {MAX_DEPTH} deep");
                        return Err(SnippetError::new(line, reason));
                    }
                    continue;
                }
                directive
            }
        };
        let around = open.last_mut().and_then(|last| last.block.as_mut());
        around.unwrap_or(&mut all).push(finished);
    }
    if open.is_empty() {
        Ok(all)
    } else {
        Err(SnippetError::syntax(line, "a brace is not closed"))
    }
}

/// All directives, as far as they can be read.
pub(in crate::snippet) fn readable_directives(text: &str) -> Vec<Vec<String>> {
    let pieces = Pieces::new(text).map_while(Result::ok);
    let directives = pieces.filter_map(|piece| match piece {
        Piece::Statement(Statement { words, .. }) => Some(words),
        Piece::End => None,
    });
    directives.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_directives() {
        let all = directives("a 1;\nif ($b) {\n c;\n if ($d) { e; }\n}\nf;").unwrap();
        let names: Vec<_> = all
            .iter()
            .map(|directive| directive.words[0].as_str())
            .collect();
        assert_eq!(names, ["a", "if", "f"]);
        let block = all[1].block.as_ref().unwrap();
        assert_eq!(
            (block[0].line, block[1].block.as_ref().unwrap().len()),
            (3, 1)
        );
        for bad in ["a {", "}", "a { } }", "a { b { c { d { e { } } } } }", "a"] {
            assert!(directives(bad).is_err(), "{bad}");
        }
    }
}
