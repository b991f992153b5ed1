//! The certificates and the users that something names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use k8s_openapi::api::core::v1::Secret;
use sluice_ir::{PasswordScheme, SecretId, SecretValue, Sensitive};
use sluice_syntax::authorities::Authorities;
use sluice_syntax::certificate::CertificatePair;

use crate::ObjectKey;
use crate::ids;
use crate::known_secret::entry_of;
use crate::references::{References, with_namespace};
use crate::report::Cause;
use crate::user_list::UserList;

/// The Secrets of one translation, collected as they are named.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Certificates and authorities.
    pub values: BTreeMap<SecretId, SecretValue>,
    /// Users with the hashes of their passwords.
    pub users: BTreeMap<SecretId, UserList>,
}

/// The contents of a Secret for TLS to an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamSecret {
    /// The certificate to present.
    pub certificate: Option<SecretId>,
    /// The authorities to trust.
    pub authorities: Option<SecretId>,
    /// They have revoked some certificates, or may.
    pub revokes: bool,
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
        let found = secret.authorities().map_err(Cause::invalid_ref)?;
        let revokes = found.is_some_and(|it| it.revoked.is_some());
        let authorities = found.map(|found| self.believe(ids::authorities(&key), found));
        if certificate.is_none() && authorities.is_none() {
            return Err(Cause::invalid_ref(
                "expected tls.crt with tls.key, or ca.crt, got a Secret with neither",
            ));
        }
        Ok(UpstreamSecret {
            certificate,
            authorities,
            revokes,
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
        let found = secret.authorities().map_err(Cause::invalid_ref)?;
        let found =
            found.ok_or_else(|| Cause::invalid_ref("expected ca.crt, got a Secret without it"))?;
        Ok(self.believe(ids::client_authorities(&key, found), found))
    }

    /// True if authorities have revoked some certificates, or may.
    #[must_use]
    pub fn revokes(&self, authorities: &SecretId) -> bool {
        let value = self.values.get(authorities);
        matches!(
            value,
            Some(SecretValue::Authorities {
                revoked: Some(_),
                ..
            })
        )
    }

    /// Users with the hashes of their passwords: the entry `auth`, or all entries with a name each.
    pub fn users(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
        scheme: PasswordScheme,
        by_entry: bool,
    ) -> Result<(SecretId, &UserList), Cause> {
        let (key, secret) = references.secret(namespace, text)?;
        let id = ids::users(&key, scheme, by_entry);
        let listed = match self.users.entry(id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let list = UserList::parse(&secret.secret, scheme, by_entry);
                new.insert(list.map_err(Cause::invalid_ref)?)
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

    fn believe(&mut self, id: SecretId, found: &Authorities) -> SecretId {
        let value = SecretValue::Authorities {
            certificates: found.certificates.clone(),
            revoked: found.revoked.clone(),
        };
        self.values.insert(id.clone(), value);
        id
    }
}

fn has_certificate(secret: &Secret) -> bool {
    ["tls.crt", "tls.key"]
        .iter()
        .any(|name| entry_of(secret, name).is_present())
}
