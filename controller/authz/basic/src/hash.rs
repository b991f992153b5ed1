//! Hashes of passwords: what nginx takes, with musl's `crypt` behind it, as ingress-nginx is built.
//!
//! | text | by |
//! |---|---|
//! | `$2a$`, `$2b$`, `$2y$` | bcrypt |
//! | `$apr1$`, `$1$` | MD5, 1000 rounds |
//! | `$5$`, `$6$` | SHA-256 and SHA-512, many rounds |
//! | `{SHA}`, `{SSHA}` | SHA-1 |
//! | `{PLAIN}` | nothing |
//! | 13 letters | DES |

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crypt3_rs::crypt::{apr1, md5, sha256, sha512, unix};
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

/// bcrypt doubles its work with each step. This one takes most of a second, during which a thread does nothing else.
pub const LONGEST_BCRYPT: u32 = 13;
/// The same for SHA-crypt. What people have is 5,000, and up to 656,000.
pub const MOST_ROUNDS: u32 = 656_000;
/// musl: longer passwords match nothing.
const LONGEST_PASSWORD: usize = 256;
/// SHA-crypt reads the password in each round: rounds times bytes, of which more take longer than a second. What bcrypt reads,
/// with all rounds that there may be.
const MOST_WORK: u64 = 656_000 * 72;
/// The default of SHA-crypt.
const USUAL_ROUNDS: u32 = 5_000;

/// A text that nothing can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHash {
    /// It is no hash that is known here.
    Unknown,
    /// It would take too long: [`LONGEST_BCRYPT`], [`MOST_ROUNDS`].
    TooSlow,
}

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Hash(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    Bcrypt(String),
    /// Hashes of a C library's `crypt`, and Apache's own.
    Crypt(Crypt, String),
    /// With the salt behind the digest, if there is one.
    Sha1 {
        digest: [u8; 20],
        salt: Vec<u8>,
    },
    Plain(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Crypt {
    Apr1,
    Md5,
    Sha256,
    Sha512,
    Des,
}

impl Hash {
    /// Reads what stands behind a user's name.
    pub fn parse(text: &str) -> Result<Self, InvalidHash> {
        if let Some(password) = text.strip_prefix("{PLAIN}") {
            return Ok(Hash(Kind::Plain(password.to_owned())));
        }
        if let Some(encoded) = text
            .strip_prefix("{SHA}")
            .or_else(|| text.strip_prefix("{SSHA}"))
        {
            return sha1_of(encoded, text.starts_with("{SSHA}")).map(Hash);
        }
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
        let kind = if begins(&["$2a$", "$2b$", "$2y$"]) {
            return bcrypt_of(text).map(Hash);
        } else if begins(&["$apr1$"]) {
            Crypt::Apr1
        } else if begins(&["$1$"]) {
            Crypt::Md5
        } else if begins(&["$5$"]) {
            Crypt::Sha256
        } else if begins(&["$6$"]) {
            Crypt::Sha512
        } else if text.len() == 13 && text.bytes().all(is_of_crypt) {
            Crypt::Des
        } else {
            return Err(InvalidHash::Unknown);
        };
        match kind.rounds(text) {
            _ if !kind.is_shape_of(text) => Err(InvalidHash::Unknown),
            Some(rounds) if rounds > MOST_ROUNDS => Err(InvalidHash::TooSlow),
            _ => Ok(Hash(Kind::Crypt(kind, text.to_owned()))),
        }
    }

    /// How long [`Hash::matches`] takes, in microseconds, about.
    #[must_use]
    pub fn cost(&self) -> u64 {
        match &self.0 {
            Kind::Plain(_) | Kind::Sha1 { .. } => 1,
            Kind::Crypt(Crypt::Des, _) => 10,
            Kind::Crypt(Crypt::Apr1 | Crypt::Md5, _) => 300,
            Kind::Crypt(kind, text) => u64::from(kind.rounds(text).unwrap_or(USUAL_ROUNDS)),
            Kind::Bcrypt(text) => 100 << bcrypt_cost(text).unwrap_or(LONGEST_BCRYPT),
        }
    }

    /// True if the password matches. May take a second.
    #[must_use]
    pub fn matches(&self, password: &[u8]) -> bool {
        if password.len() > LONGEST_PASSWORD {
            return false;
        }
        match &self.0 {
            Kind::Bcrypt(text) => bcrypt::verify(password, text).unwrap_or(false),
            Kind::Crypt(kind, text) if kind.work(text, password) > MOST_WORK => false,
            Kind::Crypt(kind, text) => kind
                .computed(password, text)
                .is_some_and(|found| equal(found.as_bytes(), text.as_bytes())),
            Kind::Sha1 { digest, salt } => {
                let found = Sha1::new()
                    .chain_update(password)
                    .chain_update(salt)
                    .finalize();
                equal(&found, digest)
            }
            Kind::Plain(text) => equal(password, text.as_bytes()),
        }
    }
}

impl Crypt {
    /// `$id$salt$digest`, for some with `rounds=N$` in front of the salt.
    fn is_shape_of(self, text: &str) -> bool {
        let (longest_salt, digest) = match self {
            Crypt::Apr1 | Crypt::Md5 => (8, 22),
            Crypt::Sha256 => (16, 43),
            Crypt::Sha512 => (16, 86),
            Crypt::Des => return true,
        };
        let parts: Vec<&str> = text.split('$').skip(2).collect();
        let (salt, found) = match parts.as_slice() {
            [salt, found] => (salt, found),
            [rounds, salt, found] if longest_salt == 16 && said(rounds).is_some() => (salt, found),
            _ => return false,
        };
        let is_salt = salt.len() <= longest_salt && salt.bytes().all(is_of_crypt);
        is_salt && found.len() == digest && found.bytes().all(is_of_crypt)
    }

    /// The rounds of SHA-crypt, if the hash has them.
    fn rounds(self, text: &str) -> Option<u32> {
        let has_rounds = matches!(self, Crypt::Sha256 | Crypt::Sha512);
        text.split('$').nth(2).filter(|_| has_rounds).and_then(said)
    }

    fn work(self, text: &str, password: &[u8]) -> u64 {
        u64::from(self.rounds(text).unwrap_or_default()).saturating_mul(password.len() as u64)
    }

    /// The hash of a password with the salt of another hash.
    fn computed(self, password: &[u8], like: &str) -> Option<String> {
        #[allow(deprecated, reason = "old hashes are checked, none is made")]
        let hash = match self {
            Crypt::Apr1 => apr1::hash_with(like, password),
            Crypt::Md5 => md5::hash_with(like, password),
            Crypt::Sha256 => sha256::hash_with(like, password),
            Crypt::Sha512 => sha512::hash_with(like, password),
            Crypt::Des => unix::hash_with(like, password),
        };
        hash.ok().map(|hash| hash.as_str().to_owned())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

fn equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

fn bcrypt_of(text: &str) -> Result<Kind, InvalidHash> {
    match bcrypt_cost(text) {
        None => Err(InvalidHash::Unknown),
        Some(cost) if cost > LONGEST_BCRYPT => Err(InvalidHash::TooSlow),
        Some(_) => Ok(Kind::Bcrypt(text.to_owned())),
    }
}

fn bcrypt_cost(text: &str) -> Option<u32> {
    text.parse::<bcrypt::HashParts>()
        .ok()
        .map(|parts| parts.get_cost())
}

fn sha1_of(encoded: &str, salted: bool) -> Result<Kind, InvalidHash> {
    let mut digest = STANDARD.decode(encoded).map_err(|_| InvalidHash::Unknown)?;
    let salt = if digest.len() > 20 {
        digest.split_off(20)
    } else {
        Vec::new()
    };
    if salt.is_empty() == salted {
        return Err(InvalidHash::Unknown);
    }
    let digest = digest.try_into().map_err(|_| InvalidHash::Unknown)?;
    Ok(Kind::Sha1 { digest, salt })
}

/// `rounds=N`; fewer than 1,000 are none that anybody makes.
fn said(rounds: &str) -> Option<u32> {
    let number = rounds
        .strip_prefix("rounds=")
        .and_then(|digits| digits.parse::<u32>().ok());
    number.filter(|rounds| *rounds >= 1000)
}

fn is_of_crypt(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each of the password `bar`, by `openssl passwd`, `perl -e crypt` and `openssl dgst -sha1`.
    const OF_BAR: &[&str] = &[
        "$2y$05$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6",
        "$2b$05$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6",
        "$2a$05$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6",
        "$apr1$abcd0123$4ky32Yp.DRsFV5AsrO0zi/",
        "$1$abcd0123$UqBwJkEs./51ZiNBXJQ6X/",
        "$5$abcd0123$VrmTzBmqdCH70L4TDY1RBibrja7HmxpczL0N2GNVpND",
        "$6$abcd0123$PzGZvlIxyikJwvBwpT0Mx2mtzUvv/DvfBDVILxsUBDwBR.LG7YkanwFU.m2L.jYzRF0HoeJdJ2GzccgsMcQ9m.",
        "$6$rounds=10000$abcd0123$FIQPX4QKxwvTPOWSHH/gAs/uF5L4goCvn7xqqdmSbKqkLBz7kHhRtu4WOAQtCvrMX6uSIHfyFcL4ApEwaEi6x.",
        "{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00=",
        "{SSHA}aTajYe2SJsRWrbKsIV9ZttXLp9RzYWx0",
        "{PLAIN}bar",
        "ab9VHpu2/1Qrs",
    ];

    #[test]
    fn every_kind_of_hash_matches_its_password_and_no_other() {
        for text in OF_BAR {
            let hash = Hash::parse(text).unwrap_or_else(|_| panic!("{text}"));
            assert!(hash.matches(b"bar"), "{text}");
            for wrong in [
                &b""[..],
                b"ba",
                b"baR",
                b"bar ",
                b"barbar",
                b"foo",
                &[b'b'; 300],
            ] {
                assert!(!hash.matches(wrong), "{text}: {wrong:?}");
            }
        }
    }

    #[test]
    fn what_is_no_hash_or_takes_too_long_is_refused() {
        for bad in [
            "",
            "bar",
            "!",
            "*",
            "$2y$05$abc",
            "$6$rounds=999$abcd0123$FIQPX4QKxwvTPOWSHH/gAs/uF5L4goCvn7xqqdmSbKqkLBz7kHhRtu4WOAQtCvrMX6uSIHfyFcL4ApEwaEi6x.",
            "$6$rounds=x$abcd0123$x",
            "$6$abcd0123",
            "$apr1$abcd0123$",
            "$apr1$$$",
            "$y$j9T$x$y",
            "{SHA}Ys23",
            "{SHA}aTajYe2SJsRWrbKsIV9ZttXLp9RzYWx0",
            "{SSHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00=",
            "{MD5}x",
            "ab9VHpu2/1Qr\u{e4}",
        ] {
            assert_eq!(Hash::parse(bad).err(), Some(InvalidHash::Unknown), "{bad}");
        }
    }

    #[test]
    fn what_takes_longer_than_a_second_is_refused_and_the_rest_says_how_long() {
        let bcrypt = |cost: u32| {
            format!("$2y${cost:02}$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6")
        };
        let sha = |rounds: u32| {
            let digest = "FIQPX4QKxwvTPOWSHH/gAs/uF5L4goCvn7xqqdmSbKqkLBz7kHhRtu4WOAQtCvrMX6uSIHfyFcL4ApEwaEi6x.";
            format!("$6$rounds={rounds}$abcd0123${digest}")
        };
        for slow in [bcrypt(14), bcrypt(31), sha(656_001), sha(999_999_999)] {
            assert_eq!(
                Hash::parse(&slow).err(),
                Some(InvalidHash::TooSlow),
                "{slow}"
            );
        }
        let cost = |text: &str| Hash::parse(text).unwrap().cost();
        assert_eq!((cost(&bcrypt(13)), cost(&sha(656_000))), (819_200, 656_000));
        // Whatever a client sends: this one would take two seconds.
        let many = Hash::parse(&sha(656_000)).unwrap();
        assert!(!many.matches(&[b'x'; 256]));
        assert!(OF_BAR.iter().all(|text| cost(text) <= 10_000));
        assert!(cost("{PLAIN}bar") < cost(&bcrypt(4)) && cost(&bcrypt(4)) < cost(&bcrypt(5)));
    }

    #[test]
    fn a_hash_is_not_shown() {
        assert_eq!(format!("{:?}", Hash::parse("{PLAIN}bar")), "Ok([redacted])");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_wrong_password_never_matches(password: Vec<u8>, kind in 0..OF_BAR.len()) {
            // What `crypt` does not tell apart: DES reads seven bits of eight letters, and a zero ends a text in C.
            let looked_at: Vec<u8> = password.iter().take(8).map(|byte| byte & 0x7f).collect();
            prop_assume!(password != b"bar" && looked_at != b"bar" && !password.contains(&0));
            prop_assume!(!password.iter().any(|byte| byte & 0x7f == 0));
            prop_assert!(!Hash::parse(OF_BAR[kind]).unwrap().matches(&password));
        }

        #[test]
        fn no_text_takes_the_reader_down(text: String, password: Vec<u8>) {
            let begun = ["", "$2y$05$", "$apr1$", "$1$", "$5$", "{SHA}", "{SSHA}"].map(|kind| format!("{kind}{text}"));
            for text in begun {
                let matched = Hash::parse(&text).is_ok_and(|hash| hash.matches(&password));
                let by_chance = matched && !text.starts_with("{PLAIN}");
                prop_assert!(!by_chance);
            }
        }
    }
}
