//! Literal prefix of a pattern, also of patterns that only PCRE can read.

use regex_syntax::ast::Ast;

/// Groups within groups, of patterns that are refused for them.
const DEEPEST: u32 = 200;
/// Bytes that are looked at.
const LONGEST: usize = 500;

/// The literal text that every path the pattern matches begins with, ignoring case; shorter or empty where unsure.
#[must_use]
pub fn literal_prefix(pattern: &str) -> String {
    let mut text = String::new();
    if has_alternatives(pattern) {
        return text;
    }
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next().filter(|_| text.len() < LONGEST) {
        match letter {
            '\\' => match letters.next().filter(char::is_ascii_punctuation) {
                Some(letter) => text.push(letter),
                None => {
                    // `\Q\E*` repeats what is before it.
                    text.pop();
                    break;
                }
            },
            // The last character need not be there.
            '*' | '?' | '{' => {
                text.pop();
                break;
            }
            '+' | '.' | '(' | ')' | '[' | ']' | '}' | '|' | '^' | '$' => break,
            letter => text.push(letter),
        }
    }
    text
}

/// The text that all paths begin with that a pattern may take, `/` where unsure: closing those closes the pattern, whatever
/// engines think of it.
#[must_use]
pub fn covering_prefix(pattern: &str) -> String {
    let prefix = literal_prefix(pattern);
    if prefix.is_empty() {
        "/".to_owned()
    } else {
        prefix
    }
}

/// True if a pattern has alternatives outside of all groups; yes in doubt.
#[must_use]
pub fn has_alternatives(pattern: &str) -> bool {
    pattern.contains('|')
        && crate::parse(pattern, DEEPEST).map_or(true, |ast| matches!(ast, Ast::Alternation(_)))
}

#[cfg(test)]
mod tests {
    use super::literal_prefix;

    #[test]
    fn what_begins_a_pattern_begins_all_that_it_takes() {
        for (pattern, text) in [
            ("/admin/(a{50}){50}", "/admin/"),
            ("/admin/(?!public).*", "/admin/"),
            ("/(?!public).*", "/"),
            ("/admins?/x", "/admin"),
            ("/admin*", "/admi"),
            ("/a{0,2}", "/"),
            ("/a+b", "/a"),
            (r"/a\.b\w", "/a."),
            (r"/a\Qb\E", "/"),
            (r"/a\Q\E*", "/"),
            (r"/\Qa*\E", ""),
            ("/a|/b", ""),
            ("/(a|b)", "/"),
            ("/a(?!x)|/b", ""),
            ("/[|]", "/"),
            ("/a$|b", ""),
        ] {
            assert_eq!(literal_prefix(pattern), text, "{pattern}");
        }
        assert_eq!(
            literal_prefix(&format!("/{}", "a".repeat(5000))).len(),
            super::LONGEST
        );
    }
}
