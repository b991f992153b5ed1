//! Texts of strangers, as people may see them.

/// Characters that are shown of one text.
const LONGEST: usize = 160;

/// A text without anything that moves a cursor or turns the direction of what follows, and not longer than some lines.
pub(crate) fn printable(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => sluice_syntax::printable(&text[..end]) + "...",
        None => sluice_syntax::printable(text),
    }
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
        assert_eq!(shown, "a\\u{1b}[31m\\r\\n\u{fffd}\u{fffd}\\u{202e}b");
        assert_eq!(printable("\u{85}\u{9b}"), "\\u{85}\\u{9b}");
        assert_eq!(printable(&"ä".repeat(500)).chars().count(), LONGEST + 3);
    }
}
