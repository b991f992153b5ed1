//! Names that are made of content.

use sha2::{Digest, Sha256};

/// A digest, in hexadecimal digits: other content has another one.
pub(super) fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
