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
        let (text, names) = if by_entry {
            let entry = |name: String| {
                let text = format!("{name}:{}\n", line(&entry_of(secret, &name).text()?)?);
                Some((text, format!("entry {name}")))
            };
            entries(secret).into_iter().filter_map(entry).unzip()
        } else {
            match entry_of(secret, "auth") {
                Entry::Text(text) => (text, Vec::new()),
                Entry::Absent => {
                    return Err("expected an entry auth, got a Secret without it".into());
                }
                Entry::NotText => return Err("expected text in auth, got other bytes".into()),
            }
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
            unreadable: unreadable.iter().map(place).collect(),
            realms,
        })
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
fn line(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.contains(['\n', '\r'])).then_some(text)
}
