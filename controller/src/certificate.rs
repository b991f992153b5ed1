//! The certificate of last resort, for hosts that have none of their own.

use anyhow::Context;
use rcgen::{CertificateParams, DnType, KeyPair};
use sluice_xds::Certificate;

/// A self-signed certificate with the names of ingress-nginx's, so that people know it when they meet it.
pub(crate) fn self_signed() -> anyhow::Result<Certificate> {
    let mut params = CertificateParams::new(["ingress.local".to_owned()]).context("certificate")?;
    params.distinguished_name.push(DnType::OrganizationName, "Acme Co");
    params.distinguished_name.push(DnType::CommonName, "Kubernetes Ingress Controller Fake Certificate");
    let key = KeyPair::generate().context("key of the default certificate")?;
    let certificate = params.self_signed(&key).context("default certificate")?;
    Ok(Certificate { chain: certificate.pem(), key: key.serialize_pem() })
}
