//! Parts of requests in CEL, for substitution formats that have no operator for them.

use std::fmt::Write;

/// A text in which nothing ends the text, or the operator that it is in.
pub(super) fn text(text: &str) -> String {
    let mut written = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' | '(' | ')' | '%' | ':' => {
                // A text takes all that is written to it.
                let _ = write!(written, "\\u{:04X}", u32::from(letter));
            }
            letter => written.push(letter),
        }
    }
    written + "'"
}

/// A header of the request.
pub(super) fn header(name: &str) -> String {
    format!("request.headers[{}]", self::text(name))
}

/// The group of a pattern, which matches the whole text; without a match there is no value.
pub(super) fn captured(text: &str, pattern: &str) -> String {
    format!("re.capture({text}, {})", self::text(pattern))
}

/// A cookie of the request, as ngx_http_parse_multi_header_lines; without it there is no value.
pub(super) fn cookie(name: &str) -> String {
    captured(&header("cookie"), &of_cookie(name))
}

/// The same; without it an empty text, where an operator without a value would write `-`.
pub(super) fn cookie_or_nothing(name: &str) -> String {
    let cookies = "('cookie' in request.headers ? request.headers['cookie'] : '')";
    captured(cookies, &format!("{}|.*", of_cookie(name)))
}

fn of_cookie(name: &str) -> String {
    format!("(?is)(?:.*?[;,] *)??{name} *= *([^;]*)(?:;.*)?")
}
