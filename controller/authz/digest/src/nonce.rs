//! Nonces that need not be kept: each says when it was made and proves that it is ours, so every process with the same key knows it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use crate::Version;

/// Seconds. As long as nginx-http-auth-digest waits for the answer to a challenge (`auth_digest_timeout`).
pub const LIFETIME: u64 = 60;
const PROOF: usize = 16;

/// A nonce, by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nonce {
    /// Seconds since 1970.
    pub issued: u64,
    /// Different for each.
    pub salt: [u8; 8],
}

/// Key of all nonces. It has to be secret and random: were it made of a file of users alone, each challenge would tell a client
/// that knows nothing whether it has guessed a password.
#[derive(Clone)]
pub struct NonceKey([u8; 32]);

impl NonceKey {
    /// The key that belongs to a secret.
    #[must_use]
    pub fn from_secret(secret: &[u8]) -> Self {
        let digest = Sha256::new()
            .chain_update("sluice nonces")
            .chain_update(secret);
        NonceKey(digest.finalize().into())
    }

    /// The nonce for clients of a file and a realm.
    #[must_use]
    pub fn encode(&self, nonce: Nonce, version: Version, realm: &str) -> String {
        let proof = self.proof(nonce, version, realm);
        URL_SAFE_NO_PAD.encode([&nonce.issued.to_be_bytes()[..], &nonce.salt, &proof].concat())
    }

    /// Reads a nonce. `None`: it is not ours, or for another realm or another text of the file.
    #[must_use]
    pub fn decode(&self, text: &[u8], version: Version, realm: &str) -> Option<Nonce> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (issued, rest) = bytes.split_first_chunk()?;
        let (salt, proof) = rest.split_first_chunk()?;
        let nonce = Nonce {
            issued: u64::from_be_bytes(*issued),
            salt: *salt,
        };
        let is_ours: bool = self.proof(nonce, version, realm).ct_eq(proof).into();
        is_ours.then_some(nonce)
    }

    /// A hash behind its key is proof enough, because the realm, the one part without a fixed length, comes last, and the hash is cut.
    fn proof(&self, nonce: Nonce, version: Version, realm: &str) -> [u8; PROOF] {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(self.0)
            .chain_update(version.as_bytes())
            .chain_update(nonce.issued.to_be_bytes())
            .chain_update(nonce.salt)
            .chain_update(realm)
            .finalize()
            .into();
        let (proof, _) = digest.split_at(PROOF);
        proof.try_into().unwrap_or_default()
    }
}

impl std::fmt::Debug for NonceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Users;

    const NONCE: Nonce = Nonce {
        issued: 1_800_000_000,
        salt: [7; 8],
    };

    #[test]
    fn a_nonce_is_known_to_whoever_has_the_key_for_one_file_and_one_realm() {
        let key = |secret: &str| NonceKey::from_secret(secret.as_bytes());
        let (old, new) = (Users::parse("").version(), Users::parse("a").version());
        let text = key("k").encode(NONCE, old, "shop");
        let decode = |key: &NonceKey, version, realm| key.decode(text.as_bytes(), version, realm);
        assert_eq!(decode(&key("k"), old, "shop"), Some(NONCE));
        assert_eq!(decode(&key("l"), old, "shop"), None);
        assert_eq!(decode(&key("k"), new, "shop"), None);
        assert_eq!(decode(&key("k"), old, "shops"), None);
    }

    #[test]
    fn no_byte_of_a_nonce_can_be_changed() {
        let (key, version) = (NonceKey::from_secret(b"k"), Users::parse("").version());
        let text = key.encode(NONCE, version, "shop").into_bytes();
        for at in 0..text.len() {
            for change in [1, 2, 0x20] {
                let mut other = text.clone();
                other[at] ^= change;
                assert_eq!(key.decode(&other, version, "shop"), None, "{at}");
            }
            assert_eq!(key.decode(&text[..at], version, "shop"), None, "{at}");
        }
        assert_eq!(
            key.decode(&[text.as_slice(), b"A"].concat(), version, "shop"),
            None
        );
    }
}
