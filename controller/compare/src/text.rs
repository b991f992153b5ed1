//! Texts of strangers, as people may see them.

/// Characters that are shown of one text.
const LONGEST: usize = 160;

/// A text without anything that moves a cursor or turns the direction of what follows, and not longer than a line or two.
pub(crate) fn printable(text: &str) -> String {
    let mut letters = text.chars().map(|c| match c {
        c if c.is_control() || is_format(c) => '\u{fffd}',
        c => c,
    });
    let start: String = letters.by_ref().take(LONGEST).collect();
    match letters.next() {
        Some(_) => format!("{start}..."),
        None => start,
    }
}

/// Marks of direction, joiners and others without a width (Unicode's category Cf, where it matters), and separators of lines.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Bytes as text, in which what is no text is replaced.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_what_follows() {
        let shown = of_bytes(b"a\x1b[31m\r\n\x9b\xff\xe2\x80\xaeb");
        assert_eq!(
            shown,
            "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}b"
        );
        assert_eq!(printable("\u{85}\u{9b}"), "\u{fffd}\u{fffd}");
        assert_eq!(printable(&"ä".repeat(500)).chars().count(), LONGEST + 3);
    }
}
