//! Certificates, keys and authorities: nginx reads them from files of their own, never from its configuration.
//!
//! Certificates of hosts are read for each handshake, by way of a name that stays (`cert_links.rs`): a new certificate needs no
//! reload. What nginx reads when it loads its configuration has its content in its name: a new one is a new configuration.
//!
//! nginx opens the file of a host twice for a handshake, for the certificate and for the key. A handshake that meets the
//! replacement in between fails, and the client's next one does not.

pub(crate) mod cert_links;
pub(crate) mod names;

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Config, SecretId, SecretValue, Sensitive};

use crate::conf::{Text, Value, Word, word};
use crate::files::names::{file_name, hash, presented};
use crate::settings::Settings;

/// Files in [`Settings::certificates`], by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files that nginx.conf names: certificates, authorities, rules of firewalls.
    pub pinned: BTreeMap<String, Sensitive>,
    /// Certificates that hosts present.
    pub presented: BTreeMap<String, Sensitive>,
    /// The link of each host, which nginx.conf names, and its target in [`Files::presented`], or `default.pem`.
    pub cert_links: BTreeMap<String, String>,
}

/// Extension of files of rules.
pub(crate) const RULES: &str = ".conf";

impl Files {
    /// Rules of firewalls, which are no secrets.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.pinned.iter();
        files
            .filter(|(name, _)| name.ends_with(RULES))
            .map(|(name, text)| (name.as_str(), text.reveal()))
    }
}

/// A file that nginx reads when it loads its configuration.
pub(crate) struct Pinned {
    pub(crate) file: Word,
    /// Certificates that are not believed any more.
    pub(crate) revoked: Option<Word>,
}

/// Path of the file that this variable names.
pub(crate) fn path_of(variable: &str, settings: &Settings) -> Value {
    let folder = format!("{}/", settings.certificates().display());
    Text::default()
        .then(&folder)
        .variable(variable)
        .then(".pem")
        .quoted()
}

/// Files of a Secret, as nginx loads them; `None` when there is no such Secret.
pub(crate) fn pinned(id: &SecretId, config: &Config, settings: &Settings) -> Option<Pinned> {
    let path = |name: String| word(settings.certificates().join(name).display());
    let value = config.secrets.get(id)?;
    let revoked = match value {
        SecretValue::Authorities { revoked, .. } => {
            revoked.as_ref().map(|_| path(revoked_name(id, value)))
        }
        SecretValue::Certificate { .. } => None,
    };
    Some(Pinned {
        file: path(pinned_name(id, value)),
        revoked,
    })
}

/// A certificate and its key, read for each connection.
pub(crate) fn when_needed(id: &SecretId, config: &Config, settings: &Settings) -> Option<Value> {
    let path = settings
        .certificates()
        .join(pinned_name(id, config.secrets.get(id)?));
    Some(
        Text::default()
            .then(&path.display().to_string())
            .variable("sluice_nothing")
            .quoted(),
    )
}

/// All files, by their names.
pub(crate) fn all(config: &Config) -> Files {
    let mut files = Files {
        cert_links: cert_links::targets(config),
        ..Files::default()
    };
    let leads_here: BTreeSet<&String> = files.cert_links.values().collect();
    for (id, value) in &config.secrets {
        match value {
            SecretValue::Certificate { chain, key } => {
                let text = pair(chain, key);
                let name = file_name(&presented(Some(id)));
                if leads_here.contains(&name) {
                    files.presented.insert(name, text.clone());
                }
                files.pinned.insert(pinned_name(id, value), text);
            }
            SecretValue::Authorities {
                certificates,
                revoked,
            } => {
                files
                    .pinned
                    .insert(pinned_name(id, value), Sensitive::new(certificates.clone()));
                let revoked = revoked.as_ref().map(|list| Sensitive::new(list.clone()));
                files
                    .pinned
                    .extend(revoked.map(|list| (revoked_name(id, value), list)));
            }
        }
    }
    files
}

/// Both in one file, so that they are of the same age.
fn pair(chain: &str, key: &Sensitive) -> Sensitive {
    Sensitive::new(format!("{}\n{}", chain.trim_end(), key.reveal()))
}

fn pinned_name(id: &SecretId, value: &SecretValue) -> String {
    // A key changes with its certificate, and does not belong into a name.
    let (SecretValue::Certificate { chain: text, .. }
    | SecretValue::Authorities {
        certificates: text, ..
    }) = value;
    format!("{}-{}.pem", hash(id.as_str()), hash(text))
}

fn revoked_name(id: &SecretId, value: &SecretValue) -> String {
    let list = match value {
        SecretValue::Authorities {
            revoked: Some(list),
            ..
        } => list.as_str(),
        _ => "",
    };
    format!("{}-{}.crl", hash(id.as_str()), hash(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(chain: &str, key: &str) -> Config {
        let id = SecretId::new("default/web");
        let value = SecretValue::Certificate {
            chain: chain.into(),
            key: Sensitive::new(key.into()),
        };
        let secrets = [(id.clone(), value)].into_iter().collect();
        Config {
            default_certificate: Some(id),
            secrets,
            ..Config::default()
        }
    }

    #[test]
    fn a_new_certificate_of_a_host_has_the_old_name() {
        let name = file_name(&presented(Some(&SecretId::new("default/web"))));
        let text = |chain, key| {
            all(&config(chain, key)).presented[&name]
                .reveal()
                .to_owned()
        };
        assert_eq!(
            (text("C\n", "K"), text("D", "L")),
            ("C\nK".to_owned(), "D\nL".to_owned())
        );
    }

    #[test]
    fn what_is_loaded_once_has_its_content_in_its_name() {
        let names = |chain| {
            all(&config(chain, "K"))
                .pinned
                .into_keys()
                .collect::<BTreeSet<_>>()
        };
        assert!(names("C").is_disjoint(&names("D")));
    }

    #[test]
    fn what_nobody_presents_is_in_no_file_for_handshakes() {
        let config = Config {
            default_certificate: None,
            ..config("C", "K")
        };
        assert!(all(&config).presented.is_empty());
    }
}
