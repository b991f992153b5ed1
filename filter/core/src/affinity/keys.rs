//! The texts in a session cookie, as ingress-nginx makes them: `UPSTREAM_KEY|BACKEND_KEY`.

use std::fmt::Write;

use md5::{Digest, Md5};

use crate::{Rng, Timestamp};

/// An MD5 in lower-case hexadecimal digits.
pub type Hex = [u8; 32];

/// Key of a backend in session cookies: `md5(md5(name) + name)`.
#[must_use]
pub fn backend_key(name: &str) -> Hex {
    let salt = md5_hex(&[name.as_bytes()]);
    md5_hex(&[&salt, name.as_bytes()])
}

/// Key of an endpoint in persistent sessions: `md5(backend + "ip:port")`. It hides the address only from people.
#[must_use]
pub fn endpoint_key(backend: &str, address: &str) -> Hex {
    md5_hex(&[backend.as_bytes(), address.as_bytes()])
}

fn md5_hex(parts: &[&[u8]]) -> Hex {
    let mut hasher = Md5::new();
    for part in parts {
        hasher.update(part);
    }
    let mut hex = [0; 32];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(hasher.finalize()) {
        for (digit, nibble) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = if nibble < 10 {
                b'0' + nibble
            } else {
                b'a' + nibble - 10
            };
        }
    }
    hex
}

/// Key of an endpoint in a new cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamKey {
    /// The key that was drawn for it, in balanced mode.
    Drawn(SessionKey),
    /// The key of the endpoint, in persistent mode.
    Endpoint(Hex),
}

impl UpstreamKey {
    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            UpstreamKey::Drawn(key) => key.as_bytes(),
            UpstreamKey::Endpoint(key) => key,
        }
    }
}

/// The key of a balanced session: `SECONDS.MILLIS.WORKER.RANDOM`, on the stack.
///
/// ingress-nginx writes its worker's process id in the third place; a filter has none, and any number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey {
    text: [u8; SessionKey::LONGEST],
    len: usize,
}

impl SessionKey {
    /// 20 digits of seconds, 3, 5 and 6 digits, and the dots between them.
    const LONGEST: usize = 40;

    /// The `n`th attempt at a key now.
    pub fn draw(n: u64, now: Timestamp, rng: &mut impl Rng) -> Self {
        let mut key = SessionKey {
            text: [0; SessionKey::LONGEST],
            len: 0,
        };
        let (seconds, millis) = (now.seconds().saturating_add(n), now.millis() % 1000);
        let (worker, random) = (rng.below(65_536), 1 + rng.below(999_999));
        // Longer than it can get; a cut key is still a key.
        let _ = write!(key, "{seconds}.{millis:03}.{worker}.{random}");
        key
    }

    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.len).unwrap_or_default()
    }
}

impl Write for SessionKey {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            *self.text.get_mut(self.len).ok_or(std::fmt::Error)? = byte;
            self.len += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    /// Measured on ingress-nginx 1.15.1.
    #[test]
    fn keys_are_those_of_ingress_nginx() {
        for (name, key) in [
            ("sticky", "eb5be2514b33fc1a00a889984a179ae6"),
            (
                "access-router-production-web-80",
                "3ec0ac2d8dd2cda20a93dee13e737231",
            ),
            ("default-svc-80", "a75711c92d8ca18f3796e2a62a2574d3"),
        ] {
            assert_eq!(backend_key(name), key.as_bytes());
        }
        for (backend, address, key) in [
            (
                "access-router-production-web-80",
                "10.184.7.40:8080",
                "ce8f959dcbe10d546cb8a4cc705e10f0",
            ),
            (
                "default-svc-80",
                "[fd00::1]:8080",
                "0eed6d1ea9bb26e105bed616294be4e4",
            ),
            ("", "[fd00::1]:8080", "f60e382f11eb7f37ef1e63a6a9a3e0d3"),
        ] {
            assert_eq!(endpoint_key(backend, address), key.as_bytes());
        }
    }

    #[test]
    fn a_session_key_fits_at_the_end_of_time_and_looks_like_the_originals() {
        let key = SessionKey::draw(
            1,
            Timestamp::from_nanos(1_795_220_784_932_000_000),
            &mut SplitMix64(0),
        );
        let text = std::str::from_utf8(key.as_bytes()).unwrap();
        assert!(text.starts_with("1795220785.932."), "{text}");
        assert_eq!(text.split('.').count(), 4);
        let last = SessionKey::draw(
            20,
            Timestamp::from_nanos(u64::MAX),
            &mut SplitMix64(u64::MAX),
        );
        assert_eq!(last.as_bytes().split(|b| *b == b'.').count(), 4);
    }
}
