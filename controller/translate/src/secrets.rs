//! The certificates and the users that something names.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use k8s_openapi::api::core::v1::Secret;
use sluice_basic_auth::{Unreadable, Users};
use sluice_ir::{SecretId, SecretValue, Sensitive};
use sluice_syntax::certificate::{CertificatePair, authorities};

use crate::ObjectKey;
use crate::references::{ReferenceError, References, with_namespace};

/// A Secret, and the certificate in it, which is read once however often it is named.
#[derive(Debug)]
pub(crate) struct KnownSecret {
    pub(crate) secret: Secret,
    certificate: OnceLock<Result<CertificatePair, String>>,
}

impl From<Secret> for KnownSecret {
    fn from(secret: Secret) -> Self {
        KnownSecret {
            secret,
            certificate: OnceLock::new(),
        }
    }
}

impl PartialEq for KnownSecret {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl KnownSecret {
    /// `tls.crt` and `tls.key`. The error is a report's reason.
    pub(crate) fn certificate(&self) -> Result<&CertificatePair, String> {
        self.certificate
            .get_or_init(|| CertificatePair::from_entries(|name| entry_of(&self.secret, name)))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// Text of a Secret, as the API server has it or as people write it.
fn entry_of(secret: &Secret, entry: &str) -> Option<String> {
    let written = secret
        .string_data
        .as_ref()
        .and_then(|data| data.get(entry))
        .cloned();
    let stored = || String::from_utf8(secret.data.as_ref()?.get(entry)?.0.clone()).ok();
    written.or_else(stored)
}

/// The Secrets of one translation, collected as they are named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) values: BTreeMap<SecretId, SecretValue>,
    pub(crate) users: BTreeMap<SecretId, Listed>,
}

/// Users of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// As a file of nginx's.
    pub(crate) text: Sensitive,
    /// Where the hashes are that nothing can match, and why if they are hashes.
    pub(crate) unreadable: Vec<String>,
}

/// Contents of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) certificate: Option<SecretId>,
    pub(crate) authorities: Option<SecretId>,
}

impl Secrets {
    /// A certificate to show to pods, and the authorities of theirs.
    pub(crate) fn upstream(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<Found, ReferenceError> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let certificate = match secret.certificate() {
            Ok(pair) => Some(self.present(&key, pair)),
            // A Secret with authorities alone is one, too.
            Err(_) if !has_certificate(&secret.secret) => None,
            Err(reason) => return Err(reason.into()),
        };
        let authorities = self.believe(&key, &secret.secret)?;
        if certificate.is_none() && authorities.is_none() {
            return Err(
                "expected tls.crt with tls.key, or ca.crt, got a Secret with neither".into(),
            );
        }
        Ok(Found {
            certificate,
            authorities,
        })
    }

    /// The authorities of clients.
    pub(crate) fn authorities(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<SecretId, ReferenceError> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let found = self.believe(&key, &secret.secret)?;
        found.ok_or_else(|| "expected ca.crt, got a Secret without it".into())
    }

    /// Users with the hashes of their passwords: the entry `auth`, or all entries with a name each.
    pub(crate) fn users(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
        by_entry: bool,
    ) -> Result<(SecretId, &Listed), ReferenceError> {
        let (key, secret) = references.secret(namespace, text)?;
        let id = if by_entry {
            SecretId::users_by_entry
        } else {
            SecretId::users
        };
        let id = id(&key.namespace, &key.name);
        let listed = match self.users.entry(id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Listed::of(&secret.secret, by_entry)?),
        };
        Ok((id, listed))
    }

    /// Presents a certificate to somebody.
    pub(crate) fn present(&mut self, key: &ObjectKey, pair: &CertificatePair) -> SecretId {
        let id = SecretId::certificate(&key.namespace, &key.name);
        let value = SecretValue::Certificate {
            chain: pair.chain.clone(),
            key: Sensitive::new(pair.key.clone()),
        };
        self.values.insert(id.clone(), value);
        id
    }

    fn believe(&mut self, key: &ObjectKey, secret: &Secret) -> Result<Option<SecretId>, String> {
        let Some(found) = authorities(|name| entry_of(secret, name))? else {
            return Ok(None);
        };
        let id = SecretId::authorities(&key.namespace, &key.name);
        let value = SecretValue::Authorities {
            certificates: found.certificates,
            revoked: found.revoked,
        };
        self.values.insert(id.clone(), value);
        Ok(Some(id))
    }
}

impl Listed {
    fn of(secret: &Secret, by_entry: bool) -> Result<Self, String> {
        let (text, names) = if by_entry {
            let entry = |name: String| {
                let text = format!("{name}:{}\n", line(&entry_of(secret, &name)?)?);
                Some((text, format!("entry {name}")))
            };
            entries(secret).into_iter().filter_map(entry).unzip()
        } else {
            let text = entry_of(secret, "auth")
                .ok_or("expected an entry auth, got a Secret without it")?;
            (text, Vec::new())
        };
        let place = |(line, reason): &(usize, Unreadable)| {
            let name = names
                .get(line - 1)
                .cloned()
                .unwrap_or_else(|| format!("line {line} of auth"));
            match reason {
                Unreadable::TooSlow => format!("{name} (too slow)"),
                Unreadable::Unknown => name,
            }
        };
        let unreadable = Users::parse(&text).unreadable().iter().map(place).collect();
        Ok(Listed {
            text: Sensitive::new(text),
            unreadable,
        })
    }
}

/// The names of what a Secret holds.
fn entries(secret: &Secret) -> BTreeSet<String> {
    let written = secret.string_data.iter().flat_map(BTreeMap::keys);
    written
        .chain(secret.data.iter().flat_map(BTreeMap::keys))
        .cloned()
        .collect()
}

/// One line and no more, so that no entry brings users of another name.
fn line(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.contains(['\n', '\r'])).then_some(text)
}

fn has_certificate(secret: &Secret) -> bool {
    ["tls.crt", "tls.key"]
        .iter()
        .any(|name| entry_of(secret, name).is_some())
}
