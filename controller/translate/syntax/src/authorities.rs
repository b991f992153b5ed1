//! Authorities of certificates, as the entries of Secrets hold them.

use std::collections::BTreeSet;

use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use crate::Entry;
use crate::certificate::certificates;

/// Name of a list of revoked certificates in PEM.
const REVOCATION_LIST: &str = "X509 CRL";
const EXPECTED_LISTS: &str = "expected lists of revoked certificates in PEM (X509 CRL) in ca.crl";

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

/// Reads `ca.crt` and `ca.crl`; `None` without a `ca.crt`. As in ingress-nginx an entry without a byte is none, and any other one has to
/// be PEM: a list that was not read would revoke nothing.
pub fn authorities(entry: impl Fn(&str) -> Entry) -> Result<Option<Authorities>, String> {
    let Some(text) = written(entry("ca.crt"), "expected certificates in PEM in ca.crt")? else {
        return Ok(None);
    };
    certificates(&text, "ca.crt")?;
    let revoked = written(entry("ca.crl"), EXPECTED_LISTS)?;
    if revoked
        .as_deref()
        .is_some_and(|text| !is_revocation_list(text))
    {
        return Err(format!("{EXPECTED_LISTS}, got something else"));
    }
    Ok(Some(Authorities {
        certificates: text,
        revoked,
    }))
}

/// Text of an entry that is not empty.
fn written(entry: Entry, expected: &str) -> Result<Option<String>, String> {
    match entry {
        Entry::Absent => Ok(None),
        Entry::Text(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Entry::NotText => Err(format!(
            "{expected}, got bytes that are no text (DER? openssl writes PEM of it with -inform DER)"
        )),
    }
}

/// Blocks of other names are left out by data planes, so they are no lists.
fn is_revocation_list(text: &str) -> bool {
    let is_list = |pem: Result<Pem, _>| {
        pem.is_ok_and(|pem| {
            pem.label == REVOCATION_LIST
                && CertificateRevocationList::from_der(&pem.contents).is_ok()
        })
    };
    let mut blocks = Pem::iter_from_buffer(text.as_bytes()).peekable();
    blocks.peek().is_some() && blocks.all(is_list)
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
            found.map_or(Entry::Absent, |(_, text)| Entry::Text((*text).to_owned()))
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

    fn issuer() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::CrlSign];
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    fn list(issuer: &CertifiedIssuer<'static, KeyPair>, number: u64, serials: &[u64]) -> String {
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
        list.signed_by(issuer).unwrap().pem().unwrap()
    }

    /// Neither entry is left out because it cannot be read: without a list nothing is revoked.
    #[test]
    fn an_entry_that_is_there_is_pem_or_an_error() {
        let (authority, list) = (certificate(), list(&issuer(), 1, &[7]));
        let der = Pem::iter_from_buffer(list.as_bytes()).next();
        let der = der.unwrap().unwrap().contents;
        assert!(std::str::from_utf8(&der).is_err());
        let renamed = format!("{list}{authority}").replace("X509 CRL", "CERTIFICATE LIST");
        let named = format!("{authority}{list}").replace(" CERTIFICATE-", " SIGNED-");
        let both = format!("{list}{authority}");
        let bad: [&[u8]; 9] = [
            &der,
            b"x",
            b" ",
            b"\n",
            b"-----BEGIN X509 CRL-----\n",
            renamed.as_bytes(),
            named.as_bytes(),
            both.as_bytes(),
            &[0xff],
        ];
        let read = |ca: &[u8], crl: Option<&[u8]>| {
            authorities(|name| match name {
                "ca.crt" => Entry::of_bytes(ca),
                "ca.crl" => crl.map_or(Entry::Absent, Entry::of_bytes),
                other => panic!("{other}"),
            })
        };
        for bytes in bad {
            let shown = String::from_utf8_lossy(bytes);
            let error = read(authority.as_bytes(), Some(bytes)).unwrap_err();
            assert!(error.contains("ca.crl"), "{shown}: {error}");
            let error = read(bytes, None).unwrap_err();
            assert!(error.contains("ca.crt"), "{shown}: {error}");
        }
        let revoked = |crl| {
            let found = read(authority.as_bytes(), crl).unwrap().unwrap();
            found.revoked
        };
        assert_eq!(revoked(None), None);
        assert_eq!(revoked(Some(b"")), None);
        assert_eq!(revoked(Some(list.as_bytes())), Some(list.clone()));
        assert!(read(b"", Some(list.as_bytes())).unwrap().is_none());
    }

    #[test]
    fn a_list_that_is_issued_again_revokes_the_same() {
        let issuer = issuer();
        let believed = |number: u64, serials: &[u64]| {
            let list = list(&issuer, number, serials);
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
