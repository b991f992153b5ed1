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

/// True of a character that a terminal takes for a command, or that reorders or hides the text around it (Unicode's category Cf,
/// where it matters, and separators of lines).
#[must_use]
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text as one line that a terminal only shows: what is unprintable is escaped.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_unprintable(letter) {
            true => line.extend(letter.escape_default()),
            false => line.push(letter),
        }
    }
    line
}

/// A value of unknown size and content, shortened for a message, without what is unprintable.
#[must_use]
pub fn shortened(text: &str) -> String {
    let clean: String = text
        .chars()
        .take(MAX_CHARS)
        .map(|c| if is_unprintable(c) { '\u{fffd}' } else { c })
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
    fn no_letter_of_a_printed_text_is_a_command() {
        for letter in (0..=0x10_ffff).filter_map(char::from_u32) {
            let is_command = letter.is_control()
                || "\u{202e}\u{2066}\u{200b}\u{2028}\u{feff}\u{e0041}".contains(letter);
            let text = format!("a{letter}b");
            assert!(
                !is_command || !printable(&text).contains(letter),
                "{letter:?}"
            );
            assert!(
                !is_command || !shortened(&text).contains(letter),
                "{letter:?}"
            );
        }
        assert_eq!(printable("a\u{1b}[2Jé\n"), "a\\u{1b}[2Jé\\n");
    }

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
