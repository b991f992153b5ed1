//! Certificates as the entries of Secrets hold them, checked for what a data plane would refuse: one that it refuses would keep
//! the listener of all hosts from starting.
//!
//! Entries come as a lookup by name. Errors are reasons of reports.

use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use crate::pem::{blocks, written, written_key};
use crate::private_key::public_key;

/// RSA, DSA and ECDSA with MD2, MD5 and SHA-1.
const WEAK_SIGNATURES: [&str; 7] = [
    "1.2.840.113549.1.1.2",
    "1.2.840.113549.1.1.4",
    "1.2.840.113549.1.1.5",
    "1.3.14.3.2.29",
    "1.3.14.3.2.27",
    "1.2.840.10040.4.3",
    "1.2.840.10045.4.1",
];
const RSA_BITS: usize = 2048;
/// Name of a certificate in PEM.
pub(crate) const CERTIFICATE: &str = "CERTIFICATE";
/// The same, and an old one.
const NAMES: [&str; 2] = [CERTIFICATE, "X509 CERTIFICATE"];

/// A certificate with its chain, and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificatePair {
    /// The certificate and those that lead to its authority, in PEM.
    pub chain: String,
    /// The private key, in PEM.
    pub key: String,
    /// The hosts that it is valid for, in lower case.
    names: Vec<String>,
    must_staple: bool,
}

impl std::fmt::Debug for CertificatePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificatePair")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl CertificatePair {
    /// Reads `tls.crt` and `tls.key`.
    pub fn from_entries(entry: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let entry = |name| entry(name).filter(|text| text.contains("-----BEGIN "));
        let missing =
            || "expected tls.crt and tls.key, both PEM, got a Secret without them".to_owned();
        let (chain, key) = (
            entry("tls.crt").ok_or_else(missing)?,
            entry("tls.key").ok_or_else(missing)?,
        );
        checked(&chain, &key)
    }

    /// True if clients are to believe it with a stapled OCSP response only (RFC 7633).
    #[must_use]
    pub fn must_staple(&self) -> bool {
        self.must_staple
    }

    /// The hosts that it is valid for, in lower case; a wildcard is `*.` and a name.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True if it is valid for a host. RFC 6125: a star is one whole label.
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let parent = host.split_once('.').map(|(_, parent)| parent);
        self.names.iter().any(|name| {
            *name == host
                || name
                    .strip_prefix("*.")
                    .is_some_and(|suffix| Some(suffix) == parent)
        })
    }
}

/// A certificate and its own key.
fn checked(chain: &str, key: &str) -> Result<CertificatePair, String> {
    let chain = certificates(chain, "tls.crt")?;
    chain.iter().try_for_each(|der| is_strong(der))?;
    let leaf = chain.first().and_then(|der| certificate(der));
    let leaf = leaf.ok_or_else(|| wrong("tls.crt"))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| "expected a key in tls.key, got none")?;
    match public_key(&key) {
        Some(public) if public == leaf.public_key().raw => Ok(CertificatePair {
            names: names(&leaf),
            must_staple: must_staple(&leaf),
            chain: written(CERTIFICATE, chain.iter().map(Vec::as_slice)),
            key: written_key(&key).ok_or_else(unusable)?,
        }),
        Some(_) => {
            Err("expected the key of the certificate in tls.key, got another one".to_owned())
        }
        None => Err(unusable()),
    }
}

fn unusable() -> String {
    "expected RSA of 2048 to 8192 bits, P-256, P-384 or Ed25519 in tls.key, got another key, a broken one, or a form that Envoy does not \
     read (PKCS#8 version 2, SEC1 without its curve; `openssl pkey` writes one that it does)"
        .to_owned()
}

/// Nginx's OpenSSL presents no chain with anything weaker, and says so to nobody but clients. Who signs itself is not believed
/// for its signature.
fn is_strong(der: &[u8]) -> Result<(), String> {
    let certificate = certificate(der).ok_or_else(|| wrong("tls.crt"))?;
    let signed_by = certificate.signature_algorithm.algorithm.to_id_string();
    if certificate.issuer() != certificate.subject()
        && WEAK_SIGNATURES.contains(&signed_by.as_str())
    {
        let expected = "expected certificates signed with SHA-256 or better in tls.crt";
        return Err(format!("{expected}, got one with SHA-1 or MD5"));
    }
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) if key.key_size() < RSA_BITS => Err(format!(
            "expected RSA keys of {RSA_BITS} bits or more in tls.crt, got one of {}",
            key.key_size()
        )),
        _ => Ok(()),
    }
}

fn must_staple(certificate: &X509Certificate<'_>) -> bool {
    /// The extension of TLS features, and `status_request` as the only one: what Envoy looks for.
    const FEATURES: &str = "1.3.6.1.5.5.7.1.24";
    const STATUS_REQUEST: [u8; 5] = [0x30, 0x03, 0x02, 0x01, 0x05];
    certificate.extensions().iter().any(|extension| {
        extension.oid.to_id_string() == FEATURES && extension.value == STATUS_REQUEST
    })
}

/// The common name counts only when there are no others.
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let alternative = alternative
        .iter()
        .flat_map(|names| &names.value.general_names);
    let dns = alternative.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    let names: Vec<String> = dns.collect();
    if !names.is_empty() {
        return names;
    }
    let common = certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok());
    common.map(str::to_ascii_lowercase).collect()
}

/// The certificates of a PEM text in DER, at least one, each of which can be read. Data planes leave out blocks of other names.
pub(crate) fn certificates(text: &str, entry: &str) -> Result<Vec<Vec<u8>>, String> {
    let blocks = blocks(text).ok_or_else(|| wrong(entry))?;
    let is_readable =
        |label: &str, der: &[u8]| NAMES.contains(&label) && certificate(der).is_some();
    if blocks.is_empty() || !blocks.iter().all(|it| is_readable(&it.label, &it.der)) {
        return Err(wrong(entry));
    }
    Ok(blocks.into_iter().map(|block| block.der).collect())
}

/// `None`: it is none, or there is something behind it.
fn certificate(der: &[u8]) -> Option<X509Certificate<'_>> {
    let (behind, certificate) = X509Certificate::from_der(der).ok()?;
    behind.is_empty().then_some(certificate)
}

fn wrong(entry: &str) -> String {
    format!("expected certificates in {entry}, got something else")
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, CustomExtension, KeyPair};

    use super::*;

    fn entries<'a>(all: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + use<'a> {
        move |name| {
            let found = all.iter().find(|(other, _)| *other == name);
            found.map(|(_, text)| (*text).to_owned())
        }
    }

    fn pair(certificate: &str, key: &str) -> Result<CertificatePair, String> {
        CertificatePair::from_entries(entries(&[("tls.crt", certificate), ("tls.key", key)]))
    }

    fn made(names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        (
            CertificateParams::new(names)
                .unwrap()
                .self_signed(&key)
                .unwrap()
                .pem(),
            key.serialize_pem(),
        )
    }

    #[test]
    fn a_certificate_is_good_for_its_names_and_a_star_is_one_label() {
        let (certificate, key) = made(&["Shop.example", "*.b.example"]);
        let pair = pair(&certificate, &key).unwrap();
        for host in ["shop.example", "SHOP.example", "a.b.example", "*.b.example"] {
            assert!(pair.covers(host), "{host}");
        }
        for host in [
            "www.shop.example",
            "b.example",
            "a.a.b.example",
            "rcgen self signed cert",
        ] {
            assert!(!pair.covers(host), "{host}");
        }
    }

    #[test]
    fn a_certificate_may_ask_for_a_stapled_response() {
        let with = |features: &[u8]| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(["a".to_owned()]).unwrap();
            let oid = [1, 3, 6, 1, 5, 5, 7, 1, 24];
            let extension = CustomExtension::from_oid_content(&oid, features.to_vec());
            params.custom_extensions.push(extension);
            let certificate = params.self_signed(&key).unwrap().pem();
            pair(&certificate, &key.serialize_pem()).unwrap()
        };
        assert!(with(&[0x30, 0x03, 0x02, 0x01, 0x05]).must_staple());
        assert!(!with(&[0x30, 0x03, 0x02, 0x01, 0x11]).must_staple());
        let (certificate, key) = made(&["a"]);
        assert!(!pair(&certificate, &key).unwrap().must_staple());
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let ((certificate, _), (_, key)) = (made(&["a"]), made(&["a"]));
        let error = pair(&certificate, &key).unwrap_err();
        assert_eq!(
            error,
            "expected the key of the certificate in tls.key, got another one"
        );
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let (certificate, key) = made(&["a"]);
        let broken = certificate.replace('M', "A");
        let renamed = certificate.replace("CERTIFICATE", "TEXT");
        for (crt, key) in [
            ("", key.as_str()),
            (&certificate, ""),
            (&broken, &key),
            (&renamed, &key),
            (&certificate, &broken),
        ] {
            assert!(pair(crt, key).is_err());
        }
    }

    /// Whatever another reader of PEM would make of it.
    #[test]
    fn data_planes_get_what_was_read_and_nothing_else() {
        let ((certificate, key), (other, foreign)) = (made(&["a"]), made(&["b"]));
        let chain = format!("{certificate}{other}");
        let expected = pair(&chain, &key).unwrap();
        assert_eq!((&expected.chain, &expected.key), (&chain, &key));
        let mut forms = vec![
            (chain.replace('\n', "\r\n"), key.replace('\n', "\r\n")),
            (format!("# a\n{chain}# b\n"), format!("# a\n{key}# b\n")),
            (chain.replace("CERT", "X509 CERT"), key.clone()),
            (chain.clone(), format!("{key}{foreign}")),
            (chain.clone(), format!("{certificate}{key}{other}")),
        ];
        for label in [
            "ENCRYPTED PRIVATE KEY",
            "DSA PRIVATE KEY",
            "EC PARAMETERS",
            "TEXT",
        ] {
            let block = foreign.replace("PRIVATE KEY", label);
            forms.push((chain.clone(), format!("{block}{key}")));
            forms.push((chain.clone(), format!("{key}{block}")));
        }
        for (chain, key) in forms {
            assert!(pair(&chain, &key) == Ok(expected.clone()), "{chain}{key}");
        }
    }

    #[test]
    fn nothing_is_behind_a_certificate() {
        let (certificate, key) = made(&["a"]);
        let der = certificates(&certificate, "tls.crt")
            .unwrap()
            .swap_remove(0);
        let with = |behind: &[u8]| {
            let der = [&der, behind].concat();
            pair(&written(CERTIFICATE, [der.as_slice()]), &key).is_ok()
        };
        assert!(with(&[]));
        assert!(!with(&[0]) && !with(&der));
    }

    #[test]
    fn what_openssl_finds_too_weak_is_refused() {
        let sha1 = (
            include_str!("../weak/leaf-of-sha1.pem"),
            include_str!("../weak/leaf-of-sha1.key"),
        );
        let short = (
            include_str!("../weak/authority-of-1024-bits.pem"),
            include_str!("../weak/authority-of-1024-bits.key"),
        );
        for ((certificate, key), expected) in [
            (sha1, "got one with SHA-1 or MD5"),
            (
                short,
                "RSA keys of 2048 bits or more in tls.crt, got one of 1024",
            ),
        ] {
            let error = pair(certificate, key).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let (certificate, key) = made(&["a"]);
        let pair = pair(&certificate, &key);
        assert!(pair.is_ok() && !format!("{pair:?}").contains("PRIVATE"));
    }
}
