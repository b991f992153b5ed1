//! Text of a client, as much of it as is kept.

/// In bytes.
const LONGEST: usize = 2048;

/// The beginning of a text, without blanks behind it.
#[must_use]
pub fn shortened(text: &str) -> &str {
    let text = text.trim_end();
    let end = text.floor_char_boundary(LONGEST);
    text.get(..end).unwrap_or_default()
}
