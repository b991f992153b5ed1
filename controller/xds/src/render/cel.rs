//! Parts of requests in CEL, for filters, and for substitution formats that have no operator for them.

use std::fmt::Write;

/// A string literal without characters that end it, or the operator that it is in.
pub(super) fn string_literal(text: &str) -> String {
    literal(text, |letter| {
        ends_literal(letter) || "()%:".contains(letter)
    })
}

/// The same in no operator: an expression of its own, whose length Envoy limits.
pub(super) fn bare_literal(text: &str) -> String {
    literal(text, ends_literal)
}

fn ends_literal(letter: char) -> bool {
    matches!(letter, '\'' | '\\') || letter.is_control()
}

fn literal(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut written = String::from("'");
    for letter in text.chars() {
        if is_escaped(letter) {
            // A text takes all that is written to it.
            let _ = write!(written, "\\u{:04X}", u32::from(letter));
        } else {
            written.push(letter);
        }
    }
    written + "'"
}

/// A header of the request.
pub(super) fn header(name: &str) -> String {
    format!("request.headers[{}]", string_literal(name))
}

/// The group of a pattern, which matches the whole text; without a match there is no value.
pub(super) fn regex_capture(text: &str, pattern: &str) -> String {
    format!("re.capture({text}, {})", string_literal(pattern))
}

/// The match of a pattern, rewritten with its groups (`\1`); without a match there is no value.
pub(super) fn regex_replaced(text: &str, pattern: &str, rewrite: &str) -> String {
    let (pattern, rewrite) = (string_literal(pattern), string_literal(rewrite));
    format!("re.extract({text}, {pattern}, {rewrite})")
}

/// A cookie of the request; without it there is no value.
pub(super) fn cookie(name: &str) -> String {
    regex_capture(&header("cookie"), &cookie_pattern(name))
}

/// The same; without it an empty text, where an operator without a value would write `-`.
pub(super) fn cookie_or_empty(name: &str) -> String {
    let cookies = "('cookie' in request.headers ? request.headers['cookie'] : '')";
    regex_capture(cookies, &format!(r"{}|\C*", cookie_pattern(name)))
}

/// A pattern of all cookies, whose group is one: as ngx_http_parse_multi_header_lines. `\C` is any byte; a dot takes none that is not
/// UTF-8, and a client could hide a cookie by one.
pub(super) fn cookie_pattern(name: &str) -> String {
    format!(r"(?is)(?:\C*?[;,] *)??{name} *= *(\C*?)(?:;\C*)?")
}

/// The same of a query and an argument: as ngx_http_arg.
pub(super) fn argument_pattern(name: &str) -> String {
    format!(r"(?is)(?:\C*?&)??{name}=(\C*?)(?:&\C*)?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_ends_neither_itself_nor_its_operator() {
        type Literal = fn(&str) -> String;
        let forms: [(Literal, &str); 2] =
            [(string_literal, "'\\\n\r()%:"), (bare_literal, "'\\\n\r")];
        for (literal, special) in forms {
            for letter in (0..=0x24F).filter_map(char::from_u32) {
                let written = literal(&format!("a{letter}"));
                let within = written
                    .strip_prefix("'a")
                    .and_then(|it| it.strip_suffix('\''));
                let within = within.unwrap_or_else(|| panic!("{written}"));
                let is_itself = within.chars().eq([letter]) && !special.contains(letter);
                let is_escape = within == format!("\\u{:04X}", u32::from(letter));
                assert!(is_itself || is_escape, "{letter:?}: {written}");
            }
        }
    }
}
