//! RFC 7616, 3.4: what a client answers to a challenge.

use std::fmt;

use crate::Algorithm;

/// Longer headers are not read. Their longest part is the target, of which nginx takes 8 KiB.
const LONGEST: usize = 16 << 10;

/// An answer to a challenge. Texts are as they are hashed: without quotes, and without the backslashes that quote.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub user: Vec<u8>,
    /// Realm that the answer is for.
    pub realm: Vec<u8>,
    /// Nonce of the challenge.
    pub nonce: Vec<u8>,
    /// Target of the request that the answer is for.
    pub uri: Vec<u8>,
    /// Hash of everything.
    pub response: Vec<u8>,
    /// Algorithm of the hash.
    pub algorithm: Algorithm,
    /// Random text of the client.
    pub cnonce: Vec<u8>,
    /// Requests that the client has answered with this nonce, this one included: eight hexadecimal digits.
    pub nc: Vec<u8>,
    /// The number in `nc`; never 0.
    pub count: u32,
}

impl Credentials {
    /// Reads the value of `Authorization`. `None`: it is of another scheme, or not in the grammar, says something twice, or lacks
    /// something. `qop` has to be `auth`: without it, as in RFC 2069, nothing would tell a replay from a request.
    #[must_use]
    pub fn parse(authorization: &[u8]) -> Option<Self> {
        if authorization.len() > LONGEST {
            return None;
        }
        let (scheme, rest) = authorization.split_at_checked(b"digest ".len())?;
        if !scheme.eq_ignore_ascii_case(b"digest ") {
            return None;
        }
        let Fields {
            username,
            realm,
            nonce,
            uri,
            response,
            algorithm,
            cnonce,
            qop,
            nc,
            is_other,
        } = Fields::parse(rest)?;
        let nc = nc?;
        let valid = !is_other && qop? == b"auth" && is_number(&nc);
        let count = u32::from_str_radix(std::str::from_utf8(&nc).ok()?, 16).ok()?;
        (valid && count > 0).then_some(Credentials {
            user: username?,
            realm: realm?,
            nonce: nonce?,
            uri: uri?,
            response: response?,
            algorithm: algorithm.map_or(Some(Algorithm::Md5), |name| of_name(&name))?,
            cnonce: cnonce.filter(|cnonce| !cnonce.is_empty())?,
            nc,
            count,
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Parameters by name, each at most once.
#[derive(Default)]
struct Fields {
    username: Option<Vec<u8>>,
    realm: Option<Vec<u8>>,
    nonce: Option<Vec<u8>>,
    uri: Option<Vec<u8>>,
    response: Option<Vec<u8>>,
    algorithm: Option<Vec<u8>>,
    cnonce: Option<Vec<u8>>,
    qop: Option<Vec<u8>>,
    nc: Option<Vec<u8>>,
    /// The user's name is encoded or hashed, which no challenge of ours permits.
    is_other: bool,
}

impl Fields {
    fn parse(mut rest: &[u8]) -> Option<Self> {
        let mut fields = Fields::default();
        loop {
            let (name, value, behind) = parameter(rest.trim_ascii())?;
            fields.set(name, value)?;
            match behind.trim_ascii_start().split_first() {
                None => return Some(fields),
                Some((b',', next)) => rest = next,
                Some(_) => return None,
            }
        }
    }

    /// `None`: it was there before. RFC 7616: unknown parameters are ignored.
    fn set(&mut self, name: &[u8], value: Vec<u8>) -> Option<()> {
        let field = match name.to_ascii_lowercase().as_slice() {
            b"username" => &mut self.username,
            b"realm" => &mut self.realm,
            b"nonce" => &mut self.nonce,
            b"uri" => &mut self.uri,
            b"response" => &mut self.response,
            b"algorithm" => &mut self.algorithm,
            b"cnonce" => &mut self.cnonce,
            b"qop" => &mut self.qop,
            b"nc" => &mut self.nc,
            b"username*" => return self.refuse(),
            b"userhash" if value != b"false" => return self.refuse(),
            _ => return Some(()),
        };
        field.replace(value).is_none().then_some(())
    }

    fn refuse(&mut self) -> Option<()> {
        self.is_other = true;
        Some(())
    }
}

/// `name = token` or `name = "text"`, and what is behind it. Clients put some values in quotes that the RFC has without, so it does
/// not matter which.
fn parameter(text: &[u8]) -> Option<(&[u8], Vec<u8>, &[u8])> {
    let (name, rest) = token(text)?;
    let value = rest
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let (value, behind) = match value.strip_prefix(b"\"") {
        Some(text) => quoted(text)?,
        None => token(value).map(|(value, behind)| (value.to_vec(), behind))?,
    };
    Some((name, value, behind))
}

/// RFC 9110, 5.6.2.
fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let end = text.iter().position(|byte| !is_of_token(byte));
    let (token, behind) = text.split_at(end.unwrap_or(text.len()));
    (!token.is_empty()).then_some((token, behind))
}

/// RFC 9110, 5.6.4, behind the first quote.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    let mut rest = text;
    loop {
        let (first, behind) = rest.split_first()?;
        (value, rest) = match first {
            b'"' => return Some((value, behind)),
            b'\\' => {
                let (escaped, behind) = behind.split_first()?;
                (with(value, *escaped)?, behind)
            }
            byte => (with(value, *byte)?, behind),
        };
    }
}

/// Control characters are in no text, not even behind a backslash.
fn with(mut text: Vec<u8>, byte: u8) -> Option<Vec<u8>> {
    let valid = byte == b'\t' || !byte.is_ascii_control();
    text.push(byte);
    valid.then_some(text)
}

fn is_number(nc: &[u8]) -> bool {
    nc.len() == 8 && nc.iter().all(u8::is_ascii_hexdigit)
}

fn of_name(name: &[u8]) -> Option<Algorithm> {
    [Algorithm::Md5, Algorithm::Sha256]
        .into_iter()
        .find(|algorithm| name.eq_ignore_ascii_case(algorithm.name().as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "Digest username=\"Mufasa\", realm=\"a, \\\"b\\\"\", nonce=\"n\", uri=\"/dir?a=1,2\", \
                        algorithm=MD5, response=\"r\", qop=auth, nc=0000000a, cnonce=\"c\"";

    fn read(text: &str) -> Option<Credentials> {
        Credentials::parse(text.as_bytes())
    }

    #[test]
    fn a_value_is_the_same_with_quotes_and_without() {
        let read_good = read(GOOD).unwrap();
        assert_eq!(
            (read_good.realm.as_slice(), read_good.uri.as_slice()),
            (&b"a, \"b\""[..], &b"/dir?a=1,2"[..])
        );
        assert_eq!(read_good.count, 10);
        for same in [
            GOOD.replace("=MD5", "=\"md5\"")
                .replace("=auth", "=\"auth\""),
            GOOD.replace("Digest ", "dIGEST  ").replace(", ", " ,\t"),
            GOOD.replace("algorithm=MD5, ", "opaque=\"x\", new=y, userhash=false, "),
            GOOD.replace("nc=", "NC = "),
        ] {
            let found = read(&same.replace("a ,\t", "a, ")).unwrap();
            assert!(found == read_good, "{same}");
        }
    }

    #[test]
    fn what_is_not_in_the_grammar_is_none() {
        let is_none = |text: &str| assert!(read(text).is_none(), "{text:?}");
        for (from, to) in [
            ("Digest ", "Basic "),
            ("Digest ", "Digest"),
            ("nc=0000000a", "nc=00000000"),
            ("nc=0000000a", "nc=a"),
            ("nc=0000000a", "nc=+000000a"),
            ("nc=0000000a", "nc=00000000a"),
            ("qop=auth", "qop=auth-int"),
            ("qop=auth", "qop=AUTH"),
            ("qop=auth", "qop=\"auth,auth-int\""),
            ("=MD5", "=MD5-sess"),
            ("=MD5", "="),
            ("cnonce=\"c\"", "cnonce=\"\""),
            ("cnonce=\"c\"", "cnonce=\"c"),
            ("cnonce=\"c\"", "cnonce=\"c\\"),
            ("cnonce=\"c\"", "cnonce=\"c\","),
            ("cnonce=\"c\"", "cnonce=\"c\";"),
            ("cnonce=\"c\"", "cnonce=\"c\" d"),
            ("cnonce=\"c\"", "cnonce=\"\0\""),
            ("cnonce=\"c\"", "cnonce=\"\\\0\""),
            ("cnonce=\"c\"", "cnonce=\"\u{7f}\""),
            ("username=", "username*="),
            ("qop=auth", "qop=auth, userhash=true"),
            ("qop=auth", "qop=auth, username*=UTF-8''a"),
            ("qop=auth", "qop=auth,, "),
            ("qop=auth", "qop=auth, =x"),
        ] {
            is_none(&GOOD.replace(from, to));
        }
        for name in [
            "username", "realm", "nonce", "uri", "response", "qop", "nc", "cnonce",
        ] {
            is_none(&GOOD.replace(&format!("{name}="), "x="));
            is_none(&format!("{GOOD}, {name}=x"));
        }
        is_none(&format!("{GOOD}, algorithm=MD5"));
        is_none(&format!("{GOOD}, x=\"{}\"", "x".repeat(LONGEST)));
    }

    proptest! {
        #[test]
        fn no_bytes_take_the_reader_down(bytes: Vec<u8>, at in 0..GOOD.len()) {
            let mut text = GOOD.as_bytes().to_vec();
            text.splice(at..at, bytes.iter().copied());
            for text in [text, [b"digest ", bytes.as_slice()].concat()] {
                if let Some(found) = Credentials::parse(&text) {
                    prop_assert!(found.count > 0 && !found.user.contains(&0));
                }
            }
        }
    }
}
