//! The certificates that something names.

use std::collections::BTreeMap;

use sluice_ir::{SecretId, SecretValue, Sensitive};

use crate::ObjectKey;
use crate::certificate::{Pair, authorities};
use crate::references::{Fault, References};

/// The certificates of one translation, collected as they are named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) values: BTreeMap<SecretId, SecretValue>,
}

/// What a Secret holds.
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
    ) -> Result<Found, Fault> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let certificate = match secret.pair() {
            Ok(pair) => Some(self.present(&key, pair)),
            // A Secret with authorities alone is one, too.
            Err(_) if !has_certificate(&secret.secret) => None,
            Err(reason) => return Err(reason.into()),
        };
        let authorities = self.believe(&key, &secret.secret)?;
        if certificate.is_none() && authorities.is_none() {
            return Err("expected tls.crt with tls.key, or ca.crt, got a Secret with neither".into());
        }
        Ok(Found { certificate, authorities })
    }

    /// The authorities of clients.
    pub(crate) fn authorities(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<SecretId, Fault> {
        let (key, secret) = references.secret(namespace, with_namespace(text)?)?;
        let found = self.believe(&key, &secret.secret)?;
        found.ok_or_else(|| "expected ca.crt, got a Secret without it".into())
    }

    /// Presents a certificate to somebody.
    pub(crate) fn present(&mut self, key: &ObjectKey, pair: &Pair) -> SecretId {
        let id = SecretId::certificate(&key.namespace, &key.name);
        let value =
            SecretValue::Certificate { chain: pair.chain.clone(), key: Sensitive::new(pair.key.clone()) };
        self.values.insert(id.clone(), value);
        id
    }

    fn believe(
        &mut self,
        key: &ObjectKey,
        secret: &k8s_openapi::api::core::v1::Secret,
    ) -> Result<Option<SecretId>, String> {
        let Some(found) = authorities(secret)? else { return Ok(None) };
        let id = SecretId::authorities(&key.namespace, &key.name);
        let value = SecretValue::Authorities { certificates: found.certificates, revoked: found.revoked };
        self.values.insert(id.clone(), value);
        Ok(Some(id))
    }
}

/// ingress-nginx takes a Secret with a namespace in front, and no other.
fn with_namespace(text: &str) -> Result<&str, String> {
    let got = || crate::object::shortened(text);
    let wrong = || format!("expected a namespace, a slash and a name, got {:?}", got());
    if text.contains('/') { Ok(text) } else { Err(wrong()) }
}

fn has_certificate(secret: &k8s_openapi::api::core::v1::Secret) -> bool {
    ["tls.crt", "tls.key"].iter().any(|name| crate::certificate::entry_of(secret, name).is_some())
}
