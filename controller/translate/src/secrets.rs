//! The certificates that something names.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use sluice_ir::{SecretId, SecretValue, Sensitive};

use crate::references::References;

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
    /// A certificate to show to pods, and the authorities of theirs. The error is a report's reason.
    pub(crate) fn upstream(
        &mut self,
        references: References<'_>,
        namespace: &str,
        text: &str,
    ) -> Result<Found, String> {
        if !text.contains('/') {
            return Err(format!(
                "expected a namespace, a slash and a name, got {:?}",
                crate::object::shortened(text)
            ));
        }
        let (key, secret) = references.secret(namespace, text)?;
        let mut found = Found::default();
        if let (Some(chain), Some(private)) = (pem(secret, "tls.crt"), pem(secret, "tls.key")) {
            let id = SecretId::certificate(&key.namespace, &key.name);
            let value = SecretValue::Certificate { chain, key: Sensitive::new(private) };
            self.values.insert(id.clone(), value);
            found.certificate = Some(id);
        }
        if let Some(certificates) = pem(secret, "ca.crt") {
            let id = SecretId::authorities(&key.namespace, &key.name);
            let value = SecretValue::Authorities { certificates, revoked: pem(secret, "ca.crl") };
            self.values.insert(id.clone(), value);
            found.authorities = Some(id);
        }
        if found == Found::default() {
            return Err("expected tls.crt with tls.key, or ca.crt, got a Secret with neither".to_owned());
        }
        Ok(found)
    }
}

fn pem(secret: &Secret, entry: &str) -> Option<String> {
    let text = entry_of(secret, entry)?;
    text.contains("-----BEGIN ").then_some(text)
}

/// Text of a Secret, as the API server has it or as people write it.
pub(crate) fn entry_of(secret: &Secret, entry: &str) -> Option<String> {
    let written = secret.string_data.as_ref().and_then(|data| data.get(entry)).cloned();
    let stored = || String::from_utf8(secret.data.as_ref()?.get(entry)?.0.clone()).ok();
    written.or_else(stored)
}
