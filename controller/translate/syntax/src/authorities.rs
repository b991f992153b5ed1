//! Authorities of certificates, as the entries of Secrets hold them.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use crate::Entry;
use crate::certificate::{CERTIFICATE, certificates};
use crate::pem::{blocks, written};

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
    /// A digest of the certificates and of those that they have revoked, whatever the order and the text around them: a list that is issued
    /// again says the same.
    pub believed: String,
}

/// Reads `ca.crt` and `ca.crl`; `None` without a `ca.crt`. As in ingress-nginx an entry without a byte is none, and any other one has to
/// be PEM: a list that was not read would revoke nothing.
pub fn authorities(entry: impl Fn(&str) -> Entry) -> Result<Option<Authorities>, String> {
    let Some(authorities) = text(entry("ca.crt"), "expected certificates in PEM in ca.crt")? else {
        return Ok(None);
    };
    let certificates = certificates(&authorities, "ca.crt")?;
    let lists = match text(entry("ca.crl"), EXPECTED_LISTS)? {
        Some(text) => Some(lists(&text).ok_or(format!("{EXPECTED_LISTS}, got something else"))?),
        None => None,
    };
    let slices = |all: &[Vec<u8>], label| written(label, all.iter().map(Vec::as_slice));
    Ok(Some(Authorities {
        believed: digest(&certificates, lists.as_deref().unwrap_or_default()),
        certificates: slices(&certificates, CERTIFICATE),
        revoked: lists.map(|lists| slices(&lists, REVOCATION_LIST)),
    }))
}

/// Keeps of each entry of a list no more than a digest: its issuer may be as long as the Secret, and the entries are many.
fn digest(certificates: &[Vec<u8>], lists: &[Vec<u8>]) -> String {
    let of = |kind: u8, parts: [&[u8]; 2]| -> [u8; 32] {
        let digest = Sha256::new_with_prefix([kind]);
        let digest = parts
            .iter()
            .fold(digest, |digest, part| digest.chain_update(part));
        digest.finalize().into()
    };
    let mut all: BTreeSet<[u8; 32]> = certificates.iter().map(|der| of(0, [der, &[]])).collect();
    for list in lists.iter().filter_map(|der| revocation_list(der)) {
        let issuer = of(1, [list.issuer().as_raw(), &[]]);
        all.insert(issuer);
        let revoked = list.iter_revoked_certificates();
        all.extend(revoked.map(|one| of(2, [&issuer, one.raw_serial()])));
    }
    let whole = all
        .iter()
        .fold(Sha256::new(), |whole, one| whole.chain_update(one));
    let bytes = whole.finalize();
    bytes
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Text of an entry that is not empty.
fn text(entry: Entry, expected: &str) -> Result<Option<String>, String> {
    match entry {
        Entry::Absent => Ok(None),
        Entry::Text(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Entry::NotText => Err(format!(
            "{expected}, got bytes that are no text (DER? openssl writes PEM of it with -inform DER)"
        )),
    }
}

/// Lists in DER. Blocks of other names are left out by data planes, so they are no lists. `None`: so is one of these, or there is none.
fn lists(text: &str) -> Option<Vec<Vec<u8>>> {
    let blocks = blocks(text)?;
    let is_list = |label: &str, der| label == REVOCATION_LIST && revocation_list(der).is_some();
    let are_lists = !blocks.is_empty() && blocks.iter().all(|it| is_list(&it.label, &it.der));
    are_lists.then(|| blocks.into_iter().map(|block| block.der).collect())
}

/// `None`: it is none, or there is something behind it.
fn revocation_list(der: &[u8]) -> Option<CertificateRevocationList<'_>> {
    let (behind, list) = CertificateRevocationList::from_der(der).ok()?;
    behind.is_empty().then_some(list)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
        DnType, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
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
        let der = blocks(&list).unwrap().swap_remove(0).der;
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

    /// Whatever another reader of PEM would make of it.
    #[test]
    fn data_planes_get_what_was_read_and_nothing_else() {
        let (authority, list) = (certificate(), list(&issuer(), 1, &[7]));
        let around = |text: &str| format!("# a\n{text}b\n").replace('\n', "\r\n");
        let found = read(&[("ca.crt", &around(&authority)), ("ca.crl", &around(&list))]).unwrap();
        assert_eq!(
            (found.certificates, found.revoked),
            (authority.clone(), Some(list.clone()))
        );
        let behind = |text: &str, label| {
            let der = [blocks(text).unwrap().swap_remove(0).der, vec![0]].concat();
            written(label, [der.as_slice()])
        };
        let (longer, longer_list) = (
            behind(&authority, CERTIFICATE),
            behind(&list, REVOCATION_LIST),
        );
        assert!(read(&[("ca.crt", &longer)]).is_err());
        assert!(read(&[("ca.crt", &authority), ("ca.crl", &longer_list)]).is_err());
    }

    #[test]
    fn a_list_that_is_issued_again_revokes_the_same() {
        let issuer = issuer();
        let believed = |number: u64, serials: &[u64]| {
            let list = list(&issuer, number, serials);
            read(&[("ca.crt", &issuer.pem()), ("ca.crl", &list)])
                .unwrap()
                .believed
        };
        assert_eq!(believed(1, &[7, 8]), believed(2, &[8, 7]));
        assert_ne!(believed(1, &[7]), believed(2, &[7, 8]));
        assert_ne!(believed(1, &[]), believed(2, &[7]));
    }

    /// Of any Secret: the issuer may be as long as that, and each entry has it.
    #[test]
    fn what_is_believed_takes_no_more_for_a_long_issuer() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::CrlSign];
        let name = "n".repeat(200_000);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let serials: Vec<u64> = (0..10_000).collect();
        let believed = |serials: &[u64]| {
            let list = list(&issuer, 1, serials);
            let found = read(&[("ca.crt", &issuer.pem()), ("ca.crl", &list)]);
            found.unwrap().believed
        };
        // A copy of it for each entry would be 2 GB, and take that long.
        let all = believed(&serials);
        assert_eq!(all.len(), 32);
        assert_ne!(all, believed(&serials[1..]));
    }

    #[test]
    fn authorities_are_believed_whatever_is_around_them() {
        let believed = |text: String| read(&[("ca.crt", &text)]).unwrap().believed;
        let (one, other) = (certificate(), certificate());
        let both = believed(format!("{one}{other}"));
        assert_eq!(both, believed(format!("# two\n{other}\n{one}")));
        assert_ne!(both, believed(one));
    }
}
