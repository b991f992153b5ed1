//! Hashes of RFC 7616, in lower-case hexadecimal digits.

use std::fmt::Write as _;

use md5::Md5;
use sha2::{Digest, Sha256};

/// Algorithm of a file of users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The one of `htdigest`.
    #[default]
    Md5,
    /// The one that RFC 7616 prefers.
    Sha256,
}

impl Algorithm {
    /// Name in a challenge.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Md5 => "MD5",
            Algorithm::Sha256 => "SHA-256",
        }
    }

    /// The algorithm whose hashes have so many digits.
    pub(crate) fn with_digits(count: usize) -> Option<Self> {
        [Algorithm::Md5, Algorithm::Sha256]
            .into_iter()
            .find(|algorithm| algorithm.digits() == count)
    }

    pub(crate) fn digits(self) -> usize {
        match self {
            Algorithm::Md5 => 32,
            Algorithm::Sha256 => 64,
        }
    }

    /// Hash of these texts with colons between them.
    pub(crate) fn hash(self, texts: &[&[u8]]) -> String {
        let text = texts.join(&b':');
        match self {
            Algorithm::Md5 => hex(&Md5::digest(text)),
            Algorithm::Sha256 => hex(&Sha256::digest(text)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
