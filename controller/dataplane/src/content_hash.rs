//! Content hashes of configurations.

use sha2::{Digest, Sha256};

/// The first 16 bytes of the SHA-256 of a text, as a number.
pub(crate) fn content_hash(text: &str) -> u128 {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(16)
        .fold(0, |hash, byte| hash << 8 | u128::from(*byte))
}
