//! Certificate metadata: expiry, serial number and issuer, for the metrics.
//!
//! Tenants write certificates, so text is read that is about as long as RFC 5280 allows (64 letters of a name, 20 bytes of a
//! serial number), and no other.

use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

/// Bytes of an attribute.
const LONGEST_ATTRIBUTE: usize = 256;
/// Bytes of a serial number; its decimal form has 2.4 times as many, and making one of a long number takes their square.
const LONGEST_SERIAL: usize = 100;

/// The first certificate of a chain: the one that names its hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertInfo {
    /// The last second of its life, in seconds since 1970.
    pub expires: i64,
    /// Decimal, as Go writes it. Empty when it is much too long.
    pub serial_number: String,
    /// The attribute `serialNumber` of the issuer's name; most have none.
    pub issuer_serial_number: String,
    /// Of the issuer's name. Attributes that are much too long are empty.
    pub issuer_organization: String,
    /// Of the issuer's name.
    pub issuer_common_name: String,
    /// `RSA`, `ECDSA` or `Ed25519`.
    pub key_algorithm: &'static str,
}

impl CertInfo {
    /// Reads a PEM chain; `None` when it begins with no certificate.
    #[must_use]
    pub fn from_pem(chain: &str) -> Option<Self> {
        let pem = Pem::iter_from_buffer(chain.as_bytes()).next()?.ok()?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents).ok()?;
        let issuer = certificate.issuer();
        Some(CertInfo {
            expires: certificate.validity().not_after.timestamp(),
            serial_number: serial_number(&certificate),
            issuer_serial_number: issuer_serial_number(issuer),
            issuer_organization: first(issuer.iter_organization()),
            issuer_common_name: first(issuer.iter_common_name()),
            key_algorithm: key_algorithm(
                &certificate.public_key().algorithm.algorithm.to_id_string(),
            ),
        })
    }
}

fn serial_number(certificate: &X509Certificate<'_>) -> String {
    if certificate.raw_serial().len() > LONGEST_SERIAL {
        return String::new();
    }
    certificate.serial.to_string()
}

fn issuer_serial_number(issuer: &X509Name<'_>) -> String {
    first(issuer.iter_by_oid(&x509_parser::oid_registry::OID_X509_SERIALNUMBER))
}

fn first<'a>(
    mut attributes: impl Iterator<Item = &'a x509_parser::x509::AttributeTypeAndValue<'a>>,
) -> String {
    let text = attributes
        .next()
        .and_then(|attribute| attribute.as_str().ok())
        .filter(|text| text.len() <= LONGEST_ATTRIBUTE);
    text.unwrap_or_default().to_owned()
}

/// In Go's words.
fn key_algorithm(oid: &str) -> &'static str {
    match oid {
        "1.2.840.113549.1.1.1" => "RSA",
        "1.2.840.10045.2.1" => "ECDSA",
        "1.3.101.112" => "Ed25519",
        _ => "0",
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, DistinguishedName, DnType, KeyPair, SerialNumber, date_time_ymd,
    };

    use super::*;

    #[test]
    fn a_certificate_tells_its_end_its_number_and_who_signed_it() {
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_after = date_time_ymd(2030, 1, 1);
        params.serial_number = Some(SerialNumber::from(vec![1, 0]));
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "Acme");
        params.distinguished_name.push(DnType::CommonName, "a name");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let expected = CertInfo {
            expires: 1_893_456_000,
            serial_number: "256".to_owned(),
            issuer_serial_number: String::new(),
            issuer_organization: "Acme".to_owned(),
            issuer_common_name: "a name".to_owned(),
            key_algorithm: "ECDSA",
        };
        assert_eq!(CertInfo::from_pem(&certificate.pem()), Some(expected));
        assert_eq!(CertInfo::from_pem("no certificate"), None);
    }

    #[test]
    fn what_is_much_too_long_is_not_read() {
        for length in [1, 64, 256, 257, 100_000] {
            let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            params.serial_number = Some(SerialNumber::from(vec![1; length]));
            params.distinguished_name = DistinguishedName::new();
            let text = "a".repeat(length);
            for kind in [DnType::OrganizationName, DnType::CommonName] {
                params.distinguished_name.push(kind, text.as_str());
            }
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let info = CertInfo::from_pem(&certificate.pem()).unwrap();
            let is_short = length <= 256;
            assert_eq!(info.issuer_common_name == text, is_short, "{length}");
            assert_eq!(info.issuer_organization == text, is_short, "{length}");
            assert_eq!(!info.serial_number.is_empty(), length <= 100, "{length}");
            assert!(info.serial_number.len() <= 256, "{length}");
        }
    }
}
