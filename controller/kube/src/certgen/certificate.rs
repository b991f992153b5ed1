//! An authority for one certificate, and that certificate. The authority's key is forgotten.

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

/// A new certificate with its key and CA, all PEM.
pub(super) struct Made {
    pub(super) authority: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Made {
    /// For these host names. ECDSA P-256.
    pub(super) fn new(hosts: &[String]) -> anyhow::Result<Self> {
        let authority_key = KeyPair::generate().context("key")?;
        let mut authority = valid(CertificateParams::default());
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        authority
            .distinguished_name
            .push(DnType::OrganizationName, "sluice certgen");
        let authority_certificate = authority.self_signed(&authority_key).context("authority")?;
        let issuer = Issuer::new(authority, authority_key);

        let key = KeyPair::generate().context("key")?;
        let params = CertificateParams::new(hosts.to_vec())
            .with_context(|| format!("--host {}: expected host names", hosts.join(",")))?;
        let mut params = valid(params);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params
            .distinguished_name
            .push(DnType::OrganizationName, "sluice certgen");
        let certificate = params.signed_by(&key, &issuer).context("certificate")?;
        Ok(Made {
            authority: authority_certificate.pem(),
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
}
