//! The certificates and the users that something names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use k8s_openapi::api::core::v1::Secret;
use sluice_basic_auth::{InvalidHash, Users};
use sluice_ir::{SecretId, SecretValue, Sensitive};
use sluice_syntax::certificate::{CertificatePair, authorities};

use crate::ObjectKey;
use crate::ids;
use crate::known_secret::{entries, entry_of};
use crate::references::{References, with_namespace};
use crate::report::Cause;

/// The Secrets of one translation, collected as they are named.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Certificates and authorities.
    pub values: BTreeMap<SecretId, SecretValue>,
    /// Users with the hashes of their passwords.
    pub users: BTreeMap<SecretId, UserList>,
}

/// Users of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserList {
    /// As a file of nginx's.
    pub text: Sensitive,
    /// Places of hashes that nothing can match, and why.
    pub unreadable: Vec<String>,
}

/// The contents of a Secret for TLS to an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamSecret {
    /// The certificate to present.
    pub certificate: Option<SecretId>,
    /// The authorities to trust.
    pub authorities: Option<SecretId>,
}

impl Secrets {
    /// A certificate to show to pods, and the authorities of theirs.
    pub fn upstream(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<UpstreamSecret, Cause> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let certificate = match secret.certificate() {
            Ok(pair) => Some(self.present(&key, pair)),
            // A Secret with authorities alone is one, too.
            Err(_) if !has_certificate(&secret.secret) => None,
            Err(reason) => return Err(Cause::invalid_ref(reason)),
        };
        let authorities = self.believe(&key, &secret.secret)?;
        if certificate.is_none() && authorities.is_none() {
            return Err(Cause::invalid_ref(
                "expected tls.crt with tls.key, or ca.crt, got a Secret with neither",
            ));
        }
        Ok(UpstreamSecret {
            certificate,
            authorities,
        })
    }

    /// The authorities of clients.
    pub fn authorities(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<SecretId, Cause> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let found = self.believe(&key, &secret.secret)?;
        found.ok_or_else(|| Cause::invalid_ref("expected ca.crt, got a Secret without it"))
    }

    /// Users with the hashes of their passwords: the entry `auth`, or all entries with a name each.
    pub fn users(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
        by_entry: bool,
    ) -> Result<(SecretId, &UserList), Cause> {
        let (key, secret) = references.secret(namespace, text)?;
        let id = if by_entry {
            ids::users_by_entry
        } else {
            ids::users
        };
        let id = id(&key);
        let listed = match self.users.entry(id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(UserList::parse(&secret.secret, by_entry).map_err(Cause::invalid_ref)?)
            }
        };
        Ok((id, listed))
    }

    /// Use of a certificate that a client or server sees.
    pub fn present(&mut self, key: &ObjectKey, pair: &CertificatePair) -> SecretId {
        let id = ids::certificate(key);
        let value = SecretValue::Certificate {
            chain: pair.chain.clone(),
            key: Sensitive::new(pair.key.clone()),
        };
        self.values.insert(id.clone(), value);
        id
    }

    fn believe(&mut self, key: &ObjectKey, secret: &Secret) -> Result<Option<SecretId>, Cause> {
        let Some(found) = authorities(|name| entry_of(secret, name)).map_err(Cause::invalid_ref)?
        else {
            return Ok(None);
        };
        let id = ids::authorities(key);
        let value = SecretValue::Authorities {
            certificates: found.certificates,
            revoked: found.revoked,
        };
        self.values.insert(id.clone(), value);
        Ok(Some(id))
    }
}

impl UserList {
    fn parse(secret: &Secret, by_entry: bool) -> Result<Self, String> {
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
        let place = |(line, reason): &(usize, InvalidHash)| {
            let name = names
                .get(line - 1)
                .cloned()
                .unwrap_or_else(|| format!("line {line} of auth"));
            match reason {
                InvalidHash::TooSlow => format!("{name} (too slow)"),
                InvalidHash::Unknown => name,
            }
        };
        let unreadable = Users::parse(&text).unreadable().iter().map(place).collect();
        Ok(UserList {
            text: Sensitive::new(text),
            unreadable,
        })
    }
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
