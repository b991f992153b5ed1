//! A file of users: a name, a colon and a hash in each line.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Hash, InvalidHash};

/// Tells one text of a file from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; 32]);

impl Version {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Users and their hashes.
#[derive(Clone)]
pub struct Users {
    hashes: HashMap<Vec<u8>, Result<Hash, InvalidHash>>,
    /// Lines with a hash that nothing can match.
    unreadable: Vec<(usize, InvalidHash)>,
    /// The first of the hashes.
    decoy: Option<Hash>,
    version: Version,
}

impl Users {
    /// Reads a file of users as nginx does: `#` begins a comment, a colon or a `#` ends a hash, the first line of a
    /// name counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut hashes = HashMap::new();
        let (mut unreadable, mut decoy) = (Vec::new(), None);
        let lines = text
            .split('\n')
            .enumerate()
            .flat_map(|(number, line)| line.split('\r').map(move |line| (number + 1, line)));
        for (number, line) in lines.filter(|(_, line)| !line.starts_with('#')) {
            let Some((user, rest)) = line.split_once(':') else {
                continue;
            };
            let Entry::Vacant(new) = hashes.entry(user.as_bytes().to_vec()) else {
                continue;
            };
            let hash = Hash::parse(rest.split([':', '#']).next().unwrap_or_default());
            match &hash {
                Ok(hash) => decoy = decoy.or_else(|| Some(hash.clone())),
                Err(reason) => unreadable.push((number, *reason)),
            }
            new.insert(hash);
        }
        Users {
            hashes,
            unreadable,
            decoy,
            version: Version(Sha256::digest(text).into()),
        }
    }

    /// The hash of a user; `None` when nobody is called so, or nothing can match what stands behind the name.
    #[must_use]
    pub fn hash_of(&self, user: &[u8]) -> Option<&Hash> {
        self.hashes.get(user)?.as_ref().ok()
    }

    /// Version of the text.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// How many names there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// Lines whose user has a hash that nothing can match; the first line is 1.
    #[must_use]
    pub fn unreadable(&self) -> &[(usize, InvalidHash)] {
        &self.unreadable
    }

    /// A hash of the file, for a user that it does not have: to be told that one does not exist takes as long as to be told
    /// that a password is wrong. `None`: nobody has one.
    #[must_use]
    pub fn decoy(&self) -> Option<&Hash> {
        self.decoy.as_ref()
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_nginx_reads_them() {
        let text = "# admins\nfoo:{PLAIN}a\r\nbar:{PLAIN}b:a comment\nfoo:{PLAIN}c\n\nnobody\nqux:{PLAIN}d#e\nold:!\n";
        let users = Users::parse(text);
        let opens = |user: &[u8], password: &[u8]| {
            users
                .hash_of(user)
                .is_some_and(|hash| hash.matches(password))
        };
        assert!(opens(b"foo", b"a") && opens(b"bar", b"b") && opens(b"qux", b"d"));
        assert!(!opens(b"foo", b"c"), "the first line counts");
        assert!(!opens(b"nobody", b"") && !opens(b"", b"") && !opens(b"old", b"!"));
        assert_eq!(
            (users.count(), users.unreadable()),
            (4, &[(8, InvalidHash::Unknown)][..])
        );
    }

    #[test]
    fn who_is_not_known_costs_what_somebody_who_is_known_costs() {
        let slow = "$2y$10$abcdefghijklmnopqrstuuUq7qXkDOZJ5Q8HA9wCOH0FErWp6q0b6";
        let users = Users::parse(&format!("bad:!\nfoo:{slow}\nbar:{{PLAIN}}x\n"));
        assert_eq!(
            users.decoy().map(Hash::cost),
            users.hash_of(b"foo").map(Hash::cost)
        );
        assert!(Users::parse("bad:!\n").decoy().is_none());
    }

    #[test]
    fn an_empty_file_knows_nobody() {
        assert_eq!(Users::parse("").count(), 0);
        assert!(Users::parse("\n:\n").hash_of(b"").is_none());
    }
}
