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

use sluice_ir::{
    Changed, Config, SecretId, SecretValue, Sensitive, ServerName, Shared, SharedMap, changed,
};

use crate::conf::{Text, Value, Word, word};
use crate::files::names::{file_name, hash, presented};
use crate::settings::Settings;
use cert_links::CertLinks;

/// Files in [`Settings::certificates`], by name. Those of two configurations share what they have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files that nginx.conf names: certificates, authorities, rules of firewalls.
    pub pinned: Shared<String, Sensitive>,
    /// Certificates that hosts present.
    pub presented: Shared<String, Sensitive>,
    /// The link of each host, which nginx.conf names, and its target in [`Files::presented`], or `default.pem`.
    pub cert_links: SharedMap<String, String>,
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
pub(crate) fn pinned(
    id: &SecretId,
    value: Option<&SecretValue>,
    settings: &Settings,
) -> Option<Pinned> {
    let path = |name: String| word(settings.certificates().join(name).display());
    let value = value?;
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
pub(crate) fn when_needed(
    id: &SecretId,
    value: Option<&SecretValue>,
    settings: &Settings,
) -> Option<Value> {
    let path = settings.certificates().join(pinned_name(id, value?));
    Some(
        Text::default()
            .then(&path.display().to_string())
            .variable("sluice_nothing")
            .quoted(),
    )
}

/// The files of the configuration that was rendered last.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFiles {
    files: Files,
    links: CertLinks,
    /// Names of rules of firewalls.
    rules: BTreeSet<String>,
}

impl KeptFiles {
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn links(&self) -> &CertLinks {
        &self.links
    }

    /// Follows a configuration, at the cost of what differs; returns the names that have got a certificate link, or have lost it.
    pub(crate) fn update(&mut self, before: &Config, now: &Config) -> BTreeSet<ServerName> {
        let former = self.links.targets().clone();
        let renamed = self.links.update(before, now);
        let mut targets: BTreeSet<String> = BTreeSet::new();
        for link in changed(&former, self.links.targets()) {
            targets.extend(link.before.into_iter().chain(link.now).cloned());
        }
        for Changed { name, before, now } in changed(&before.secrets, &now.secrets) {
            let of = |value: Option<&SecretValue>| value.map(|value| pinned_files(name, value));
            for (file, _) in of(before).into_iter().flatten() {
                self.files.pinned.remove(&file);
            }
            for (file, text) in of(now).into_iter().flatten() {
                self.files.pinned.insert(file, text.into());
            }
            let file = file_name(&presented(Some(name)));
            self.files.presented.remove(&file);
            self.present(name, file, now);
        }
        self.follow_targets(&targets, now);
        self.files.cert_links = self.links.targets().clone();
        renamed
    }

    /// Files of certificates that links have begun to lead to, or do no longer.
    fn follow_targets(&mut self, targets: &BTreeSet<String>, config: &Config) {
        for target in targets {
            let id = self.links.secret(target).cloned();
            match id.and_then(|id| Some((config.secrets.get(&id)?, id))) {
                Some((value, id)) => self.present(&id, target.clone(), Some(value)),
                None => drop(self.files.presented.remove(target)),
            }
        }
    }

    /// Certificates that somebody presents, and nothing else.
    fn present(&mut self, id: &SecretId, file: String, value: Option<&SecretValue>) {
        if let Some(SecretValue::Certificate { chain, key }) = value
            && self.links.secret(&file) == Some(id)
            && !self.files.presented.contains_key(&file)
        {
            self.files.presented.insert(file, pair(chain, key).into());
        }
    }

    /// Replaces the rules of firewalls.
    pub(crate) fn set_rules(&mut self, rules: BTreeMap<String, String>) {
        let names = rules.keys().cloned().collect();
        for gone in std::mem::replace(&mut self.rules, names) {
            if !rules.contains_key(&gone) {
                self.files.pinned.remove(&gone);
            }
        }
        for (name, text) in rules {
            // The name has the content in it.
            if !self.files.pinned.contains_key(&name) {
                let text = Sensitive::new(text);
                self.files.pinned.insert(name, text.into());
            }
        }
    }
}

/// Files of a Secret that nginx reads when it loads its configuration.
fn pinned_files(id: &SecretId, value: &SecretValue) -> Vec<(String, Sensitive)> {
    let name = pinned_name(id, value);
    match value {
        SecretValue::Certificate { chain, key } => vec![(name, pair(chain, key))],
        SecretValue::Authorities {
            certificates,
            revoked,
        } => {
            let revoked = revoked.as_ref().map(|list| Sensitive::new(list.clone()));
            let revoked = revoked.map(|list| (revoked_name(id, value), list));
            let certificates = (name, Sensitive::new(certificates.clone()));
            std::iter::once(certificates).chain(revoked).collect()
        }
    }
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

    fn all(config: &Config) -> Files {
        let mut files = KeptFiles::default();
        files.update(&Config::default(), config);
        files.files
    }

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
                .keys()
                .cloned()
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
