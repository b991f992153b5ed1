//! An authority and the certificates that it signs. Its key is forgotten.

use std::time::{Duration, SystemTime};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// As kube-webhook-certgen: it is not renewed.
const VALID: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// Clocks differ.
const BEFORE: Duration = Duration::from_secs(3600);

/// A new authority, for as long as it is in memory. ECDSA P-256, as all keys here.
pub(super) struct Authority {
    /// Its certificate.
    pub(super) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, both PEM.
pub(super) struct Signed {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// Purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    Server,
    Client,
}

impl Authority {
    /// Fails when there is no randomness.
    pub(super) fn new() -> anyhow::Result<Self> {
        let key = KeyPair::generate().context("key")?;
        let mut params = valid(CertificateParams::default());
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let certificate = params.self_signed(&key).context("authority")?;
        Ok(Authority {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        })
    }

    /// A certificate for these host names. Fails when one of them is none.
    pub(super) fn sign(&self, hosts: &[String], usage: Usage) -> anyhow::Result<Signed> {
        let key = KeyPair::generate().context("key")?;
        let params = CertificateParams::new(hosts.to_vec())
            .with_context(|| format!("--host {}: expected host names", hosts.join(",")))?;
        let mut params = valid(params);
        params.extended_key_usages = vec![match usage {
            Usage::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Usage::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let certificate = params
            .signed_by(&key, &self.issuer)
            .context("certificate")?;
        Ok(Signed {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn valid(mut params: CertificateParams) -> CertificateParams {
    let now = SystemTime::now();
    params.not_before = (now - BEFORE).into();
    params.not_after = (now + VALID).into();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "sluice certgen");
    params
}
