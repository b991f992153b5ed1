//! Content hashes of configurations and files.

use std::fs;
use std::path::Path;

use anyhow::Context;
use sha2::{Digest, Sha256};

/// The first 16 bytes of the SHA-256 of a text, as a number.
pub(crate) fn content_hash(text: &str) -> u128 {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(16)
        .fold(0, |hash, byte| hash << 8 | u128::from(*byte))
}

/// The SHA-256 of a file.
pub(crate) fn file_hash(path: &Path) -> anyhow::Result<String> {
    let content = fs::read(path).with_context(|| path.display().to_string())?;
    let digest = Sha256::digest(content);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
