//! Values of labels. Tenants, pods and clients write them: names, hosts, paths, statuses, text of certificates.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sluice_translate::ObjectKey;

/// Bytes of a label. Names of objects have up to 253.
const LONGEST: usize = 256;
/// Bytes of a digest that tell two labels with the same beginning apart.
const TOLD_APART_BY: usize = 8;

/// Label value for everything beyond a limit.
const OTHER: &str = "_other";

/// The value of a label, of limited length whatever it is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Label(Arc<str>);

impl Label {
    /// The text; of one that is too long the beginning and a digest of all of it.
    pub(super) fn of(text: &str) -> Self {
        if text.len() <= LONGEST {
            return Label(Arc::from(text));
        }
        let end = text.floor_char_boundary(LONGEST - 1 - 2 * TOLD_APART_BY);
        let mut short = format!("{}~", text.get(..end).unwrap_or_default());
        for byte in Sha256::digest(text).iter().take(TOLD_APART_BY) {
            write!(short, "{byte:02x}").ok();
        }
        Label(Arc::from(short))
    }

    /// Namespace and name of an object.
    pub(super) fn of_object(key: &ObjectKey) -> [Self; 2] {
        [Label::of(&key.namespace), Label::of(&key.name)]
    }

    /// That of everything beyond a limit.
    pub(super) fn other() -> Self {
        Label::of(OTHER)
    }

    /// So many of them.
    pub(super) fn others<const N: usize>() -> [Self; N] {
        [(); N].map(|()| Label::other())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_never_longer_than_its_limit_and_still_says_which_text_it_is() {
        for letter in ["a", "\u{e4}", "\u{20ac}", "\u{1f600}"] {
            for count in [1, 60, 64, 65, 127, 128, 129, 256, 257, 5_000] {
                let text = letter.repeat(count);
                let label = Label::of(&text);
                assert!(label.as_str().len() <= LONGEST, "{count} x {letter}");
                assert_eq!(label.as_str() == text, text.len() <= LONGEST);
                let longer = Label::of(&format!("{text}{letter}"));
                assert_ne!(label, longer, "{count} x {letter}");
            }
        }
        assert_eq!(
            Label::of(&"a".repeat(257)).as_str().len(),
            LONGEST,
            "as much as fits"
        );
    }
}
