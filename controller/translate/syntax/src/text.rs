//! Text of unknown size and content, as messages quote it.

const MAX_CHARS: usize = 100;

/// Part of a text as it is written, shortened for a message, so that one can search for it: only characters that cannot be seen
/// are escaped.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(MAX_CHARS) {
        match c {
            '\\' | '"' | '\'' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    if text.chars().count() > MAX_CHARS {
        shown += "...";
    }
    shown
}

/// A value of unknown size and content, shortened for a message, without control characters.
#[must_use]
pub fn shortened(text: &str) -> String {
    let clean: String = text
        .chars()
        .take(MAX_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().count() > MAX_CHARS {
        clean + "..."
    } else {
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_what_stands_there() {
        let text = r#"if ($a ~ "\.php$")"#;
        assert_eq!(excerpt(text), text);
        assert_eq!(
            excerpt("a 'b\n\tc\u{7}\u{202e}'"),
            "a 'b\\n\\tc\\u{7}\\u{202e}'"
        );
        assert_eq!(excerpt(&"a".repeat(101)), "a".repeat(100) + "...");
    }
}
