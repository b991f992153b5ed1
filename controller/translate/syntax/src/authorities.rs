//! Authorities of certificates, as the entries of Secrets hold them.

use std::collections::BTreeSet;

use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use crate::certificate::certificates;

/// Certificate authorities, and the certificates that they have revoked.
#[derive(Debug)]
pub struct Authorities {
    /// Certificates in PEM.
    pub certificates: String,
    /// Revocation lists in PEM.
    pub revoked: Option<String>,
}

impl Authorities {
    /// The certificates, and those that they have revoked, whatever the order and the text around them: a list that is issued again says
    /// the same.
    #[must_use]
    pub fn believed(&self) -> BTreeSet<Vec<u8>> {
        let blocks = |text: &str| -> Vec<Pem> {
            let blocks = Pem::iter_from_buffer(text.as_bytes());
            blocks.filter_map(Result::ok).collect()
        };
        let lists = blocks(self.revoked.as_deref().unwrap_or_default());
        let revoked = lists.iter().flat_map(|pem| {
            let list = CertificateRevocationList::from_der(&pem.contents);
            let list = list.map(|(_, list)| list).into_iter();
            list.flat_map(|list| {
                let issuer = list.issuer().as_raw().to_vec();
                let revoked = list.iter_revoked_certificates();
                // The issuer ends where its own length says.
                let entries = revoked.map(|one| [&issuer, one.raw_serial()].concat());
                entries.chain([issuer.clone()]).collect::<Vec<_>>()
            })
        });
        let certificates = blocks(&self.certificates).into_iter();
        certificates
            .map(|pem| pem.contents)
            .chain(revoked)
            .collect()
    }
}

/// Reads `ca.crt` and `ca.crl`; `None` without a `ca.crt`.
pub fn authorities(entry: impl Fn(&str) -> Option<String>) -> Result<Option<Authorities>, String> {
    let Some(text) = entry("ca.crt").filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    certificates(&text, "ca.crt")?;
    let revoked = entry("ca.crl").filter(|text| !text.trim().is_empty());
    if revoked
        .as_deref()
        .is_some_and(|text| !is_revocation_list(text))
    {
        return Err(
            "expected a list of revoked certificates in ca.crl, got something else".to_owned(),
        );
    }
    Ok(Some(Authorities {
        certificates: text,
        revoked,
    }))
}

fn is_revocation_list(text: &str) -> bool {
    let readable = |pem: Result<Pem, _>| {
        pem.is_ok_and(|pem| CertificateRevocationList::from_der(&pem.contents).is_ok())
    };
    text.contains("-----BEGIN ") && Pem::iter_from_buffer(text.as_bytes()).all(readable)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
        IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
        date_time_ymd,
    };

    use super::*;

    fn read(entries: &[(&str, &str)]) -> Result<Authorities, String> {
        let entry = |name: &str| {
            let found = entries.iter().find(|(other, _)| *other == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        authorities(entry).map(|found| found.expect("ca.crt"))
    }

    fn certificate() -> String {
        let params = CertificateParams::new(["a".to_owned()]).unwrap();
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .pem()
    }

    #[test]
    fn what_is_no_authority_is_refused() {
        assert!(read(&[("ca.crt", "x")]).is_err());
        assert!(read(&[("ca.crt", &certificate()), ("ca.crl", "x")]).is_err());
    }

    #[test]
    fn a_list_that_is_issued_again_revokes_the_same() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let believed = |number: u64, serials: &[u64]| {
            let revoked = |serial: &u64| RevokedCertParams {
                serial_number: SerialNumber::from(*serial),
                revocation_time: date_time_ymd(2026, 1, 1),
                reason_code: None,
                invalidity_date: None,
            };
            let list = CertificateRevocationListParams {
                this_update: date_time_ymd(2026, 1, 1),
                next_update: date_time_ymd(2096, 1, 1),
                crl_number: SerialNumber::from(number),
                issuing_distribution_point: None,
                revoked_certs: serials.iter().map(revoked).collect(),
                key_identifier_method: KeyIdMethod::Sha256,
            };
            let list = list.signed_by(&issuer).unwrap().pem().unwrap();
            read(&[("ca.crt", &issuer.pem()), ("ca.crl", &list)])
                .unwrap()
                .believed()
        };
        assert_eq!(believed(1, &[7, 8]), believed(2, &[8, 7]));
        assert_ne!(believed(1, &[7]), believed(2, &[7, 8]));
        assert_ne!(believed(1, &[]), believed(2, &[7]));
    }

    #[test]
    fn authorities_are_believed_whatever_is_around_them() {
        let believed = |text: String| read(&[("ca.crt", &text)]).unwrap().believed();
        let (one, other) = (certificate(), certificate());
        let both = believed(format!("{one}{other}"));
        assert_eq!(both, believed(format!("# two\n{other}\n{one}")));
        assert_ne!(both, believed(one));
    }
}
