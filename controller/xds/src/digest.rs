//! Names that are made of content.

use sha2::{Digest, Sha256};

/// 128 bits of SHA-256, in hexadecimal.
pub(crate) fn digest(content: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(content);
    let bytes = digest.iter().take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
