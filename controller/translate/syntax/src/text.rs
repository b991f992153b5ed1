//! Text of unknown size and content, as messages quote it.

/// A value of unknown size and content, shortened for a message, without control characters.
#[must_use]
pub fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 100;
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
