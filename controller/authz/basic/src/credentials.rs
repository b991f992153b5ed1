//! RFC 7617: a name and a password, as clients send them.

use std::fmt;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// nginx takes them with padding and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Before the first colon.
    pub user: Vec<u8>,
    /// Behind it.
    pub password: Vec<u8>,
}

impl Credentials {
    /// Reads the value of `Authorization`. `None`: there are none in it, or it is of another scheme.
    #[must_use]
    pub fn parse(authorization: &[u8]) -> Option<Self> {
        let (scheme, encoded) = authorization.split_at_checked(b"basic ".len())?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let decoded = BASE64.decode(encoded.trim_ascii()).ok()?;
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        let (user, password) = (decoded.get(..colon)?, decoded.get(colon + 1..)?);
        // A hash is of a text in C, which a zero ends: what follows would not count.
        let valid = !user.is_empty() && !password.contains(&0);
        valid.then(|| Credentials {
            user: user.to_vec(),
            password: password.to_vec(),
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_the_first_colon() {
        let read = Credentials::parse(b"Basic Zm9vOmI6YQ==").unwrap();
        assert_eq!(
            (read.user.as_slice(), read.password.as_slice()),
            (&b"foo"[..], &b"b:a"[..])
        );
        assert_eq!(Credentials::parse(b"bASIC Zm9vOmI6YQ"), Some(read));
    }

    #[test]
    fn what_is_no_name_and_password_is_none() {
        for bad in [
            "",
            "Basic",
            "Basic ",
            "Basic !!!",
            "Basic Zm9v",
            "Basic OmJhcg==",
            "Bearer Zm9vOmJhcg==",
            "BasicZm9vOmJhcg==",
        ] {
            assert_eq!(Credentials::parse(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(
            Credentials::parse(b"Basic Zm9vOmIAYQ=="),
            None,
            "a password with a zero"
        );
    }

    #[test]
    fn they_are_not_shown() {
        assert_eq!(
            format!("{:?}", Credentials::parse(b"Basic Zm9vOmI6YQ==").unwrap()),
            "[redacted]"
        );
    }
}
