//! A file of users: a name, a realm and a hash of both with the password in each line, with colons between them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{Algorithm, Credentials};

/// Tells one text of a file from another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Version([u8; 32]);

impl Version {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A line that is no user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidLine {
    /// It is not `user:realm:hash` with 32 or 64 hexadecimal digits.
    Malformed,
    /// Its hash is of another algorithm than the first of the file: a challenge has one.
    OtherAlgorithm,
}

/// Users of each realm, and their hashes (RFC 7616: H(A1)).
#[derive(Clone)]
pub struct Users {
    realms: HashMap<Vec<u8>, HashMap<Vec<u8>, String>>,
    algorithm: Option<Algorithm>,
    unreadable: Vec<(usize, InvalidLine)>,
    version: Version,
}

impl Users {
    /// Reads a file: a `#` in front is a comment, and a colon or `#` ends a hash; the first line of a user in a realm counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut users = Users {
            realms: HashMap::new(),
            algorithm: None,
            unreadable: Vec::new(),
            version: Version(Sha256::digest(text).into()),
        };
        let lines = text
            .split('\n')
            .enumerate()
            .flat_map(|(number, line)| line.split('\r').map(move |line| (number + 1, line)));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            if let Err(reason) = users.add(line) {
                users.unreadable.push((number, reason));
            }
        }
        users
    }

    fn add(&mut self, line: &str) -> Result<(), InvalidLine> {
        let (user, rest) = line.split_once(':').ok_or(InvalidLine::Malformed)?;
        let (realm, rest) = rest.split_once(':').ok_or(InvalidLine::Malformed)?;
        let hash = rest.split([':', '#']).next().unwrap_or_default();
        let is_hex = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let algorithm = Algorithm::with_digits(hash.len()).filter(|_| is_hex);
        let algorithm = algorithm.ok_or(InvalidLine::Malformed)?;
        if *self.algorithm.get_or_insert(algorithm) != algorithm {
            return Err(InvalidLine::OtherAlgorithm);
        }
        let realm = self.realms.entry(realm.as_bytes().to_vec()).or_default();
        if let Entry::Vacant(new) = realm.entry(user.as_bytes().to_vec()) {
            new.insert(hash.to_ascii_lowercase());
        }
        Ok(())
    }

    /// True if these are the answer of a user of their realm for a request with this method. Takes as long for an unknown user as for a
    /// wrong password.
    #[must_use]
    pub fn verify(&self, credentials: &Credentials, method: &str) -> bool {
        let algorithm = self.algorithm();
        let realm = self.realms.get(&credentials.realm);
        let known = realm.and_then(|users| users.get(&credentials.user));
        let decoy = "0".repeat(algorithm.digits());
        let response = response(algorithm, known.unwrap_or(&decoy), credentials, method);
        let is_equal: bool = response.as_bytes().ct_eq(&credentials.response).into();
        is_equal && known.is_some() && credentials.algorithm == algorithm
    }

    /// Algorithm of the challenge: that of the file's first user.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or_default()
    }

    /// Version of the text.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Realms that have users.
    pub fn realms(&self) -> impl Iterator<Item = &[u8]> {
        self.realms.keys().map(Vec::as_slice)
    }

    /// Lines that are no users; the first line is 1.
    #[must_use]
    pub fn unreadable(&self) -> &[(usize, InvalidLine)] {
        &self.unreadable
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// RFC 7616, 3.4.1, with `qop=auth`.
fn response(algorithm: Algorithm, hash: &str, credentials: &Credentials, method: &str) -> String {
    let Credentials {
        nonce,
        uri,
        cnonce,
        nc,
        ..
    } = credentials;
    let request = algorithm.hash(&[method.as_bytes(), uri]);
    algorithm.hash(&[
        hash.as_bytes(),
        nonce,
        nc,
        cnonce,
        b"auth",
        request.as_bytes(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7616, 3.9.1; RFC 2617, 3.5 has an answer in MD5, too.
    fn answer(algorithm: &str, response: &str) -> Credentials {
        let text = format!(
            "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", algorithm={algorithm}, \
             nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, \
             cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, response=\"{response}\", \
             opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        );
        Credentials::parse(text.as_bytes()).unwrap()
    }

    const MD5: &str = "8ca523f5e9506fed4657c9700eebdbec";
    const SHA256: &str = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1";

    fn file(algorithm: Algorithm) -> Users {
        let hash = algorithm.hash(&[b"Mufasa", b"http-auth@example.org", b"Circle of Life"]);
        Users::parse(&format!("Mufasa:http-auth@example.org:{hash}\n"))
    }

    #[test]
    fn answers_of_the_rfc_are_right_for_their_request_alone() {
        for (algorithm, right) in [(Algorithm::Md5, MD5), (Algorithm::Sha256, SHA256)] {
            let users = file(algorithm);
            assert_eq!(users.algorithm(), algorithm);
            let good = answer(algorithm.name(), right);
            assert!(users.verify(&good, "GET"));
            assert!(!users.verify(&good, "POST") && !users.verify(&good, "get"));
            let changes: &[fn(&mut Credentials)] = &[
                |other| other.user = b"Scar".to_vec(),
                |other| other.realm = b"http-auth@example.com".to_vec(),
                |other| other.nonce.push(b'x'),
                |other| other.uri = b"/dir/index.htm".to_vec(),
                |other| other.cnonce.push(b'x'),
                |other| other.nc = b"00000002".to_vec(),
                |other| other.response.clear(),
                |other| other.response.make_ascii_uppercase(),
            ];
            for change in changes {
                let mut other = good.clone();
                change(&mut other);
                assert!(!users.verify(&other, "GET"));
            }
        }
    }

    #[test]
    fn an_answer_has_the_algorithm_of_the_file() {
        assert!(!file(Algorithm::Md5).verify(&answer("SHA-256", SHA256), "GET"));
        assert!(!file(Algorithm::Md5).verify(&answer("SHA-256", MD5), "GET"));
        assert!(!file(Algorithm::Sha256).verify(&answer("MD5", MD5), "GET"));
    }

    #[test]
    fn nobody_is_let_in_with_what_is_compared_for_unknown_users() {
        let decoy = "0".repeat(32);
        let mut unknown = answer("MD5", MD5);
        unknown.user = b"nobody".to_vec();
        unknown.response = response(Algorithm::Md5, &decoy, &unknown, "GET").into_bytes();
        for users in [file(Algorithm::Md5), Users::parse("")] {
            assert!(!users.verify(&unknown, "GET"));
        }
    }

    #[test]
    fn a_line_is_a_user_a_realm_and_a_hash() {
        let (md5, other) = ("0f".repeat(16), "A0".repeat(16));
        let text = format!(
            "# admins\nfoo:shop:{md5}\r\n\nfoo:shop:{other}\nbar:shop:{other}:a comment\nbar:back office:{md5}#x\n\
             foo:$apr1$x\nbaz:shop:{md5}0\nbaz:shop:x{}\nbaz:a:b:{md5}\nbaz:shop:{md5}{md5}\n",
            &md5[1..]
        );
        let users = Users::parse(&text);
        let hash =
            |realm: &str, user: &str| users.realms.get(realm.as_bytes())?.get(user.as_bytes());
        assert_eq!(hash("shop", "foo"), Some(&md5), "the first line counts");
        assert_eq!(hash("shop", "bar"), Some(&other.to_ascii_lowercase()));
        assert_eq!(hash("back office", "bar"), Some(&md5));
        assert!(hash("shop", "baz").is_none() && hash("a", "baz").is_none());
        let malformed = [7, 8, 9, 10].map(|line| (line, InvalidLine::Malformed));
        let other = [(11, InvalidLine::OtherAlgorithm)];
        assert_eq!(users.unreadable(), [&malformed[..], &other].concat());
        assert_eq!(format!("{users:?}"), "[redacted]");
    }
}
