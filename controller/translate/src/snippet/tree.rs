//! A snippet as directives within directives.

use super::statements::{Piece, Pieces, SyntaxError};

/// Blocks within blocks.
const DEEPEST: usize = 4;

/// A directive, and what it has between braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    /// The name first.
    pub(super) words: Vec<String>,
    pub(super) line: usize,
    pub(super) block: Option<Vec<Directive>>,
}

impl Directive {
    /// Name and arguments.
    pub(super) fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

/// The directives of a text; the first line that is wrong otherwise.
pub(super) fn directives(text: &str) -> Result<Vec<Directive>, usize> {
    let mut open: Vec<Directive> = Vec::new();
    let mut all = Vec::new();
    let mut line = 1;
    for piece in Pieces::new(text) {
        let finished = match piece {
            Err(SyntaxError { line }) => return Err(line),
            Ok(Piece::End) => open.pop().ok_or(line)?,
            Ok(Piece::Statement(statement)) => {
                line = statement.line;
                let directive = Directive {
                    words: statement.words,
                    line,
                    block: statement.opens.then(Vec::new),
                };
                if directive.block.is_some() {
                    open.push(directive);
                    if open.len() > DEEPEST {
                        return Err(line);
                    }
                    continue;
                }
                directive
            }
        };
        let around = open.last_mut().and_then(|last| last.block.as_mut());
        around.unwrap_or(&mut all).push(finished);
    }
    if open.is_empty() { Ok(all) } else { Err(line) }
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
