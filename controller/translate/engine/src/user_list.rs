//! Users of a Secret, as the file of a password scheme.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use sluice_basic_auth::InvalidHash;
use sluice_digest_auth::InvalidLine;
use sluice_ir::{PasswordScheme, Sensitive, UserFile};
use sluice_syntax::Entry;

use crate::known_secret::{entries, entry_of};

/// Users of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserList {
    /// As a file of nginx's.
    pub file: UserFile,
    /// Places of lines that let nobody in, and why.
    pub unreadable: Vec<String>,
    /// Realms of the users of digest authentication.
    pub realms: BTreeSet<Vec<u8>>,
}

impl UserList {
    pub(crate) fn parse(
        secret: &Secret,
        scheme: PasswordScheme,
        by_entry: bool,
    ) -> Result<Self, String> {
        let Lines {
            text,
            names,
            skipped,
        } = if by_entry {
            Lines::of_entries(secret)
        } else {
            Lines::of_file(entry_of(secret, "auth"))?
        };
        let place = |(line, reason): &(usize, &str)| {
            let name = names.get(line - 1).cloned();
            format!(
                "{}{reason}",
                name.unwrap_or_else(|| format!("line {line} of auth"))
            )
        };
        let (unreadable, realms) = match scheme {
            PasswordScheme::Basic => (basic(&text), BTreeSet::new()),
            PasswordScheme::Digest => digest(&text),
        };
        let text = Sensitive::new(text);
        Ok(UserList {
            file: UserFile { scheme, text },
            unreadable: unreadable.iter().map(place).chain(skipped).collect(),
            realms,
        })
    }
}

/// Lines with a user each.
#[derive(Default)]
struct Lines {
    text: String,
    /// Places of the lines, where they are entries.
    names: Vec<String>,
    /// Places of what is no line.
    skipped: Vec<String>,
}

impl Lines {
    fn of_entries(secret: &Secret) -> Self {
        let mut lines = Lines::default();
        for name in entries(secret) {
            match line(&entry_of(secret, &name)) {
                Ok(line) => {
                    lines.text += &format!("{name}:{line}\n");
                    lines.names.push(format!("entry {name}"));
                }
                Err(reason) => lines.skipped.push(format!("entry {name} ({reason})")),
            }
        }
        lines
    }

    fn of_file(entry: Entry) -> Result<Self, String> {
        match entry {
            Entry::Text(text) => Ok(Lines {
                text,
                ..Lines::default()
            }),
            Entry::Absent => Err("expected an entry auth, got a Secret without it".into()),
            Entry::NotText => Err("expected text in auth, got other bytes".into()),
        }
    }
}

/// Lines with hashes that nothing matches.
fn basic(text: &str) -> Vec<(usize, &'static str)> {
    let users = sluice_basic_auth::Users::parse(text);
    let place = |(line, reason): &(usize, InvalidHash)| match reason {
        InvalidHash::TooSlow => (*line, " (too slow)"),
        InvalidHash::Unknown => (*line, ""),
    };
    users.unreadable().iter().map(place).collect()
}

/// Lines that are no users, and the realms of the others.
fn digest(text: &str) -> (Vec<(usize, &'static str)>, BTreeSet<Vec<u8>>) {
    let users = sluice_digest_auth::Users::parse(text);
    let place = |(line, reason): &(usize, InvalidLine)| match reason {
        InvalidLine::OtherAlgorithm => (*line, " (another algorithm than the first)"),
        InvalidLine::Malformed => (*line, ""),
    };
    let unreadable = users.unreadable().iter().map(place).collect();
    (unreadable, users.realms().map(<[u8]>::to_vec).collect())
}

/// One line and no more, so that no entry brings users of another name.
fn line(entry: &Entry) -> Result<&str, &'static str> {
    let Entry::Text(text) = entry else {
        return Err("not text");
    };
    let text = text.trim();
    if text.contains(['\n', '\r']) {
        return Err("several lines");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    /// It lets somebody in, or is named.
    #[test]
    fn every_entry_is_a_user_or_is_unreadable() {
        let hash = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";
        let several = format!("{hash}\nroot:{hash}");
        for (entry, expected) in [
            (hash.as_bytes(), None),
            (format!(" {hash}\n").as_bytes(), None),
            (several.as_bytes(), Some("entry a (several lines)")),
            (
                several.replace('\n', "\r").as_bytes(),
                Some("entry a (several lines)"),
            ),
            (&[0xff], Some("entry a (not text)")),
            (b"", Some("entry a")),
            (b"plain", Some("entry a")),
        ] {
            let entries = [("a", entry), ("b", hash.as_bytes())];
            let entry = |(name, bytes): (&str, &[u8])| (name.to_owned(), ByteString(bytes.into()));
            let secret = Secret {
                data: Some(entries.map(entry).into()),
                ..Secret::default()
            };
            let list = UserList::parse(&secret, PasswordScheme::Basic, true).unwrap();
            assert_eq!(list.unreadable, Vec::from_iter(expected));
            let text = list.file.text.reveal();
            assert!(
                !text.contains("root") && text.ends_with(&format!("b:{hash}\n")),
                "{text}"
            );
        }
    }
}
