//! The certificate of last resort, for hosts that have none of their own.

use std::fs;
use std::path::Path;

use anyhow::Context;
use rcgen::{CertificateParams, DnType, KeyPair};
use sluice_dataplane::private_file;
use sluice_xds::Certificate;

/// The end of the chain, and the beginning of the key.
const BETWEEN: &str = "-----BEGIN PRIVATE KEY-----";

/// The certificate of this folder: the next controller presents the same, and nothing changes for the data plane.
pub(crate) fn of_folder(folder: &Path) -> anyhow::Result<Certificate> {
    let path = folder.join("default-certificate.pem");
    if let Some(certificate) = private_file::read(&path)
        .ok()
        .and_then(|text| split(&String::from_utf8(text).ok()?))
    {
        return Ok(certificate);
    }
    let certificate = self_signed()?;
    let staged = path.with_extension("new");
    let describe = || staged.display().to_string();
    private_file::write(&staged, format!("{}{}", certificate.chain, certificate.key))
        .with_context(describe)?;
    fs::rename(&staged, path).with_context(describe)?;
    Ok(certificate)
}

fn split(text: &str) -> Option<Certificate> {
    let (chain, key) = text.split_at_checked(text.find(BETWEEN)?)?;
    chain
        .contains("-----END CERTIFICATE-----")
        .then(|| Certificate {
            chain: chain.to_owned(),
            key: key.to_owned(),
        })
}

/// A self-signed certificate with the names of ingress-nginx's, so that people know it when they meet it.
pub(crate) fn self_signed() -> anyhow::Result<Certificate> {
    let mut params = CertificateParams::new(["ingress.local".to_owned()]).context("certificate")?;
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Acme Co");
    params.distinguished_name.push(
        DnType::CommonName,
        "Kubernetes Ingress Controller Fake Certificate",
    );
    let key = KeyPair::generate().context("key of the default certificate")?;
    let certificate = params.self_signed(&key).context("default certificate")?;
    Ok(Certificate {
        chain: certificate.pem(),
        key: key.serialize_pem(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_keeps_its_certificate_and_nobody_else_reads_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let first = of_folder(folder.path()).unwrap();
        assert_eq!(of_folder(folder.path()).unwrap(), first);
        let file = folder.path().join("default-certificate.pem");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::write(&file, "half").unwrap();
        assert_ne!(of_folder(folder.path()).unwrap(), first);
    }
}
