//! Entries of Secrets: bytes, which are meant to be text.

/// An entry of a Secret. One that is no text is there all the same: nothing that it was to say is left out in silence.
#[derive(Clone, PartialEq, Eq)]
pub enum Entry {
    /// The Secret has none of this name.
    Absent,
    /// Text.
    Text(String),
    /// Bytes that are no UTF-8, as DER.
    NotText,
}

impl Entry {
    /// An entry of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        std::str::from_utf8(bytes).map_or(Entry::NotText, |text| Entry::Text(text.to_owned()))
    }

    /// The text, if it is some.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Entry::Text(text) => Some(text),
            Entry::Absent | Entry::NotText => None,
        }
    }

    /// True if the Secret has it, whatever is in it.
    #[must_use]
    pub fn is_present(&self) -> bool {
        *self != Entry::Absent
    }
}
