//! Private keys of certificates: which public key is theirs, of those that every data plane takes.
//!
//! ```text
//!   RSA of 2048 to 8192 bits --rsa.rs-->  P-256, P-384, Ed25519 --ring-->  P-521, and what ring does not read --curve.rs--> public key
//! ```
//!
//! Envoy refuses a key whose numbers contradict each other, with everything in the same Secret, so they are compared here as BoringSSL
//! does. ring leaves the exponent of RSA out of its comparison, and has neither P-521 nor RSA of more than 4096 bits.

mod curve;
mod der;
mod rsa;

use rustls::crypto::ring::sign::{any_ecdsa_type, any_eddsa_type};
use rustls::pki_types::PrivateKeyDer;

/// Public key of a private one, as a SubjectPublicKeyInfo in DER; `None`: a data plane does not take it.
pub(crate) fn public_key(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    let public = rsa::public_key(key).or_else(|| by_ring(key));
    public.or_else(|| curve::public_key(key))
}

fn by_ring(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    let signer = match (any_ecdsa_type(key), key) {
        (Ok(signer), _) => signer,
        (Err(_), PrivateKeyDer::Pkcs8(key)) => any_eddsa_type(key).ok()?,
        (Err(_), _) => return None,
    };
    Some(signer.public_key()?.as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject;
    use x509_parser::certificate::X509Certificate;
    use x509_parser::num_bigint::BigUint;
    use x509_parser::prelude::FromDer;

    use super::*;
    use crate::certificate::certificates;

    const RSA: (&str, &str) = (
        include_str!("../keys/rsa-8192.pem"),
        include_str!("../keys/rsa-8192.key"),
    );
    const P_521: (&str, &str) = (
        include_str!("../keys/p-521.pem"),
        include_str!("../keys/p-521.key"),
    );
    const ALONE: (&str, &str) = (
        include_str!("../keys/p-256-alone.pem"),
        include_str!("../keys/p-256-alone.key"),
    );
    const SHORTER: (&str, &str) = (
        include_str!("../keys/rsa-2049.pem"),
        include_str!("../keys/rsa-2049.key"),
    );

    fn key(pem: &str) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    fn certified(pem: &str) -> Vec<u8> {
        let pem = certificates(pem, "tls.crt").unwrap().swap_remove(0);
        let (_, certificate) = X509Certificate::from_der(&pem.contents).unwrap();
        certificate.public_key().raw.to_vec()
    }

    /// The key inside of PKCS#8.
    fn unwrapped(pem: &str) -> Vec<u8> {
        let PrivateKeyDer::Pkcs8(key) = key(pem) else {
            panic!("PKCS#8");
        };
        der::pkcs8(key.secret_pkcs8_der()).unwrap().1.to_vec()
    }

    fn pkcs1(der: Vec<u8>) -> Option<Vec<u8>> {
        public_key(&PrivateKeyDer::Pkcs1(der.into()))
    }

    fn sec1(der: Vec<u8>) -> Option<Vec<u8>> {
        public_key(&PrivateKeyDer::Sec1(der.into()))
    }

    #[test]
    fn a_key_is_that_of_its_certificate() {
        for (certificate, private) in [RSA, P_521, ALONE, SHORTER] {
            assert_eq!(public_key(&key(private)), Some(certified(certificate)));
        }
        assert_eq!(pkcs1(unwrapped(RSA.1)), Some(certified(RSA.0)));
    }

    #[test]
    fn numbers_of_rsa_that_contradict_each_other_are_refused() {
        let PrivateKeyDer::Pkcs1(shorter) = key(SHORTER.1) else {
            panic!("PKCS#1");
        };
        for whole in [unwrapped(RSA.1), shorter.secret_pkcs1_der().to_vec()] {
            let numbers: Vec<BigUint> = der::parts(&whole)
                .unwrap()
                .iter()
                .map(|part| BigUint::from_bytes_be(part.content))
                .collect();
            let written = |numbers: &[BigUint]| {
                let numbers: Vec<Vec<u8>> = numbers.iter().map(der::integer).collect();
                der::value(der::SEQUENCE, &numbers.concat())
            };
            assert_eq!(written(&numbers), whole);
            for position in 0..numbers.len() {
                for wrong in [
                    &numbers[position] + 2_u8,
                    BigUint::ZERO,
                    BigUint::from(1_u8),
                ] {
                    let mut changed = numbers.clone();
                    changed[position] = wrong.clone();
                    let is_same = changed == numbers;
                    assert!(
                        is_same || pkcs1(written(&changed)).is_none(),
                        "{position}: {wrong}"
                    );
                }
            }
            // As large, and as good modulo p - 1 and q - 1, but no smaller than the modulus.
            let mut changed = numbers.clone();
            let [p, q] = [&numbers[4], &numbers[5]].map(|prime| prime - 1_u8);
            changed[3] = &numbers[3] + p * q;
            assert_eq!(pkcs1(written(&changed)), None);
        }
    }

    #[test]
    fn a_key_on_a_curve_names_its_own_public_key_or_none() {
        let whole = unwrapped(P_521.1);
        let parts = der::parts(&whole).unwrap();
        let [version, secret, public] = parts.as_slice() else {
            panic!("a version, the key and its public key");
        };
        let name = [&[0xa0, 7][..], &[6, 5, 0x2b, 0x81, 4, 0, 0x23]].concat();
        let written = |parts: &[&[u8]]| sec1(der::sequence(parts));
        let expected = Some(certified(P_521.0));
        let (version, public) = (version.whole, public.whole);
        assert_eq!(written(&[version, secret.whole, &name, public]), expected);
        assert_eq!(written(&[version, secret.whole, &name]), expected);
        // Nothing says which curve.
        assert_eq!(written(&[version, secret.whole, public]), None);
        let next = (BigUint::from_bytes_be(secret.content) + 1_u8).to_bytes_be();
        let padded = [vec![0; 66 - next.len()], next].concat();
        let next = der::value(der::OCTET_STRING, &padded);
        assert_eq!(written(&[version, &next, &name, public]), None);
        let other = written(&[version, &next, &name]);
        assert!(other.is_some() && other != expected);
        for none in [&[0; 66][..], &[0xff; 66], &[]] {
            let none = der::value(der::OCTET_STRING, none);
            assert_eq!(written(&[version, &none, &name]), None);
        }
        let two = der::value(der::INTEGER, &[2]);
        assert_eq!(written(&[&two, secret.whole, &name, public]), None);
    }

    #[test]
    fn a_key_has_one_encoding() {
        let whole = unwrapped(RSA.1);
        // A length with a zero in front.
        let mut longer = whole.clone();
        longer.splice(1..2, [0x83, 0]);
        assert!(whole[1] == 0x82 && pkcs1(longer).is_none());
        assert_eq!(pkcs1([&whole[..], &[0]].concat()), None);
        for end in 0..64 {
            assert_eq!(pkcs1(whole[..end].to_vec()), None);
            assert_eq!(sec1(whole[..end].to_vec()), None);
        }
    }

    #[test]
    fn attributes_say_nothing_of_a_key() {
        let PrivateKeyDer::Pkcs8(key) = key(RSA.1) else {
            panic!("PKCS#8");
        };
        let parts = der::parts(key.secret_pkcs8_der()).unwrap();
        let wholes: Vec<&[u8]> = parts.iter().map(|part| part.whole).collect();
        let with = |last: &[u8]| {
            let whole = der::sequence(&[&wholes[..], &[last]].concat());
            public_key(&PrivateKeyDer::Pkcs8(whole.into()))
        };
        assert_eq!(with(&[0xa0, 0]), Some(certified(RSA.0)));
        assert_eq!(with(&[0xa1, 0]), None);
    }
}
