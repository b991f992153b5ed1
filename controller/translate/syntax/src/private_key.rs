//! Private keys of certificates: which public key is theirs, of those that every data plane takes.
//!
//! ```text
//!   RSA of 2048 to 8192 bits --rsa.rs--> public key <--ring-- P-256, P-384, Ed25519
//! ```
//!
//! Envoy refuses a key whose numbers contradict each other, with everything in the same Secret, so they are compared here as BoringSSL
//! does. ring leaves the exponent of RSA out of its comparison, and has no RSA of more than 4096 bits. P-521, which it has not either, is
//! not taken. ring also takes structures that BoringSSL refuses: PKCS#8 with a public key of its own (version 2), and SEC1 without its curve.

mod der;
mod rsa;

use rustls::crypto::ring::sign::{any_ecdsa_type, any_eddsa_type};
use rustls::pki_types::PrivateKeyDer;

/// Public key of a private one, as a SubjectPublicKeyInfo in DER; `None`: a data plane does not take it.
pub(crate) fn public_key(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    rsa::public_key(key).or_else(|| by_ring(key))
}

fn by_ring(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    match key {
        PrivateKeyDer::Pkcs8(key) => der::pkcs8(key.secret_pkcs8_der()).map(drop)?,
        PrivateKeyDer::Sec1(key) => der::has_curve(key.secret_sec1_der()).then_some(())?,
        _ => return None,
    }
    let signer = match (any_ecdsa_type(key), key) {
        (Ok(signer), _) => signer,
        (Err(_), PrivateKeyDer::Pkcs8(key)) => any_eddsa_type(key).ok()?,
        (Err(_), _) => return None,
    };
    Some(signer.public_key()?.as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
    use rustls::pki_types::pem::PemObject;
    use x509_parser::asn1_rs::{Integer, Sequence, ToDer};
    use x509_parser::certificate::X509Certificate;
    use x509_parser::num_bigint::{BigInt, BigUint};
    use x509_parser::prelude::FromDer;

    use super::*;
    use crate::certificate::certificates;

    const RSA: (&str, &str) = (
        include_str!("../keys/rsa-8192.pem"),
        include_str!("../keys/rsa-8192.key"),
    );
    const SHORTER: (&str, &str) = (
        include_str!("../keys/rsa-2049.pem"),
        include_str!("../keys/rsa-2049.key"),
    );

    fn key(pem: &str) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    fn certified(pem: &str) -> Vec<u8> {
        let der = certificates(pem, "tls.crt").unwrap().swap_remove(0);
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
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

    fn numbers(der: &[u8]) -> Vec<BigUint> {
        let parts = der::parts(der).unwrap();
        parts.iter().map(|part| part.number().unwrap()).collect()
    }

    fn written(numbers: &[BigUint]) -> Vec<u8> {
        let integer = |number: &BigUint| {
            let bytes = BigInt::from(number.clone()).to_signed_bytes_be();
            Integer::new(&bytes).to_der_vec().unwrap()
        };
        let numbers: Vec<Vec<u8>> = numbers.iter().map(integer).collect();
        sequence(&numbers.concat())
    }

    fn sequence(content: &[u8]) -> Vec<u8> {
        Sequence::new(content.into()).to_der_vec().unwrap()
    }

    #[test]
    fn a_key_is_that_of_its_certificate() {
        for (certificate, private) in [RSA, SHORTER] {
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
            let numbers = numbers(&whole);
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

    /// A key of two numbers that need not be prime.
    fn key_of(p: &BigUint, q: &BigUint) -> Vec<BigUint> {
        let e = BigUint::from(65_537_u32);
        let [p_order, q_order] = [p, q].map(|prime| prime - 1_u8);
        let inverse = |number: &BigUint, modulus| number.modinv(modulus).unwrap();
        vec![
            BigUint::ZERO,
            p * q,
            e.clone(),
            inverse(&e, &(&p_order * &q_order)),
            p.clone(),
            q.clone(),
            inverse(&e, &p_order),
            inverse(&e, &q_order),
            inverse(q, p),
        ]
    }

    /// In keys of rcgen the public key is inside: of Ed25519 in PKCS#8, of ECDSA in the SEC1 in it.
    #[test]
    fn structures_that_boringssl_refuses_are_refused() {
        let pkcs8 = |der: Vec<u8>| public_key(&PrivateKeyDer::Pkcs8(der.into())).is_some();
        let generate = |algorithm| KeyPair::generate_for(algorithm).unwrap().serialize_der();
        let ed25519 = generate(&PKCS_ED25519);
        let parts = der::parts(&ed25519).unwrap();
        let first = Integer::new(&[0]).to_der_vec().unwrap();
        let oldest = sequence(&[&first, parts[1].whole, parts[2].whole].concat());
        assert_eq!((pkcs8(ed25519.clone()), pkcs8(oldest)), (false, true));
        for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384] {
            let whole = generate(algorithm);
            let (named, key) = der::pkcs8(&whole).unwrap();
            // Behind the algorithm's own id: its tag, its length and seven bytes.
            let curve = &named[9..];
            let parts = der::parts(key).unwrap();
            let (version, number, public) = (parts[0].whole, parts[1].whole, parts[2].whole);
            let curve = [&[0xa0, u8::try_from(curve.len()).unwrap()], curve].concat();
            let sec1 = |der: Vec<u8>| public_key(&PrivateKeyDer::Sec1(der.into())).is_some();
            assert!(pkcs8(whole.clone()));
            assert!(sec1(sequence(&[version, number, &curve, public].concat())));
            assert!(!sec1(sequence(&[version, number, public].concat())));
        }
    }

    #[test]
    fn rsa_has_up_to_8192_bits() {
        for (pem, bits, is_taken) in [(SHORTER.1, 2050, true), (RSA.1, 8193, false)] {
            let der = match key(pem) {
                PrivateKeyDer::Pkcs1(key) => key.secret_pkcs1_der().to_vec(),
                _ => unwrapped(pem),
            };
            let numbers = numbers(&der);
            assert!(pkcs1(written(&key_of(&numbers[4], &numbers[5]))).is_some());
            let longer = key_of(&numbers[4], &(&numbers[5] * 2_u8 + 1_u8));
            assert_eq!(longer[1].bits(), bits);
            assert_eq!(pkcs1(written(&longer)).is_some(), is_taken, "{bits}");
        }
    }

    #[test]
    fn a_key_has_one_encoding() {
        let whole = unwrapped(RSA.1);
        // A length with a zero in front: of all, and of the last number.
        let mut longer = whole.clone();
        longer.splice(1..2, [0x83, 0]);
        assert!(whole[1] == 0x82 && pkcs1(longer).is_none());
        let parts = der::parts(&whole).unwrap();
        let (last, first) = parts.split_last().unwrap();
        let with = |last: &[u8]| {
            let first: Vec<&[u8]> = first.iter().map(|part| part.whole).collect();
            pkcs1(sequence(&[&first.concat(), last].concat()))
        };
        assert_eq!(with(last.whole), Some(certified(RSA.0)));
        let mut longer = last.whole.to_vec();
        longer.splice(1..2, [0x83, 0]);
        assert!(last.whole[1] == 0x82 && with(&longer).is_none());
        // The same number with a zero in front, a negative one, and a text.
        let number = |bytes: &[u8]| Integer::new(bytes).to_der_vec().unwrap();
        assert_eq!(with(&number(&[&[0], last.content].concat())), None);
        assert_eq!(with(&number(&[&[0x80], last.content].concat())), None);
        assert_eq!(with(&number(&[])), None);
        assert_eq!(with(&[&[4], &last.whole[1..]].concat()), None);
        assert_eq!(pkcs1([&whole[..], &[0]].concat()), None);
        for end in 0..64 {
            assert_eq!(pkcs1(whole[..end].to_vec()), None);
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
            let whole = sequence(&[&wholes.concat(), last].concat());
            public_key(&PrivateKeyDer::Pkcs8(whole.into()))
        };
        assert_eq!(with(&[0xa0, 0]), Some(certified(RSA.0)));
        assert_eq!(with(&[0xa1, 0]), None);
    }
}
