//! A Secret as it is kept, with what is read from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use k8s_openapi::api::core::v1::Secret;
use sluice_syntax::Entry;
use sluice_syntax::authorities::{Authorities, authorities};
use sluice_syntax::certificate::CertificatePair;

/// A Secret, and the certificate and the authorities in it, which are read once however often it is named.
#[derive(Debug)]
pub struct KnownSecret {
    pub(crate) secret: Secret,
    certificate: OnceLock<Result<CertificatePair, String>>,
    authorities: OnceLock<Result<Option<Authorities>, String>>,
}

impl From<Secret> for KnownSecret {
    fn from(secret: Secret) -> Self {
        KnownSecret {
            secret,
            certificate: OnceLock::new(),
            authorities: OnceLock::new(),
        }
    }
}

impl PartialEq for KnownSecret {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl KnownSecret {
    /// The certificate in `tls.crt` and `tls.key`. The error is a report's reason.
    pub fn certificate(&self) -> Result<&CertificatePair, String> {
        self.certificate
            .get_or_init(|| {
                CertificatePair::from_entries(|name| entry_of(&self.secret, name).text())
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The authorities in `ca.crt`, with `ca.crl`; `None` without them. The error is a report's reason.
    pub fn authorities(&self) -> Result<Option<&Authorities>, String> {
        let read = || authorities(|name| entry_of(&self.secret, name));
        match self.authorities.get_or_init(read) {
            Ok(found) => Ok(found.as_ref()),
            Err(reason) => Err(reason.clone()),
        }
    }
}

/// An entry of a Secret, as the API server has it or as people write it.
pub(crate) fn entry_of(secret: &Secret, entry: &str) -> Entry {
    let written = secret.string_data.as_ref();
    if let Some(text) = written.and_then(|data| data.get(entry)) {
        return Entry::Text(text.clone());
    }
    let stored = secret.data.as_ref().and_then(|data| data.get(entry));
    stored.map_or(Entry::Absent, |bytes| Entry::of_bytes(&bytes.0))
}

/// The names of the entries of a Secret.
pub(crate) fn entries(secret: &Secret) -> BTreeSet<String> {
    let written = secret.string_data.iter().flat_map(BTreeMap::keys);
    written
        .chain(secret.data.iter().flat_map(BTreeMap::keys))
        .cloned()
        .collect()
}
