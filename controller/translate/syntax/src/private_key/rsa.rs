//! RSA, in PKCS#1 or PKCS#8.

use std::ops::RangeInclusive;

use rustls::pki_types::{PrivateKeyDer, alg_id};
use rustls::sign::public_key_to_spki;
use x509_parser::asn1_rs::{Sequence, ToDer};
use x509_parser::num_bigint::BigUint;

use super::der::{self, Part};

/// Envoy takes no shorter keys, and BoringSSL no longer ones.
const BITS: RangeInclusive<u64> = 2048..=8192;
/// Bits of a public exponent in BoringSSL.
const EXPONENT_BITS: RangeInclusive<u64> = 2..=33;

/// The numbers of a key, in the order of PKCS#1.
struct Numbers<'a> {
    modulus: &'a BigUint,
    public_exponent: &'a BigUint,
    private_exponent: &'a BigUint,
    primes: [&'a BigUint; 2],
    exponents: [&'a BigUint; 2],
    coefficient: &'a BigUint,
}

pub(super) fn public_key(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    let der = match key {
        PrivateKeyDer::Pkcs1(key) => key.secret_pkcs1_der(),
        PrivateKeyDer::Pkcs8(key) => {
            let (algorithm, key) = der::pkcs8(key.secret_pkcs8_der())?;
            (algorithm == alg_id::RSA_ENCRYPTION.as_ref()).then_some(key)?
        }
        _ => return None,
    };
    let parts = der::parts(der)?;
    let numbers: Vec<BigUint> = parts.iter().map(Part::number).collect::<Option<_>>()?;
    let [version, n, e, d, p, q, dp, dq, qi] = numbers.as_slice() else {
        return None;
    };
    let numbers = Numbers {
        modulus: n,
        public_exponent: e,
        private_exponent: d,
        primes: [p, q],
        exponents: [dp, dq],
        coefficient: qi,
    };
    if *version != BigUint::ZERO || !numbers.are_consistent() {
        return None;
    }
    // Modulus and public exponent.
    let public: Vec<&[u8]> = parts.get(1..3)?.iter().map(|part| part.whole).collect();
    let public = Sequence::new(public.concat().into()).to_der_vec().ok()?;
    Some(public_key_to_spki(&alg_id::RSA_ENCRYPTION, public).to_vec())
}

impl Numbers<'_> {
    /// BoringSSL's `RSA_check_key`: whether the primes are prime is for a handshake to find out.
    fn are_consistent(&self) -> bool {
        let (n, e, d) = (self.modulus, self.public_exponent, self.private_exponent);
        let [p, q] = self.primes;
        let one = BigUint::from(1_u8);
        // Before anything is multiplied.
        let are_bounded = BITS.contains(&n.bits())
            && EXPONENT_BITS.contains(&e.bits())
            && n.bit(0)
            && e.bit(0)
            && d < n
            && [p, q].into_iter().all(|prime| *prime > one && prime < n);
        if !are_bounded || p * q != *n {
            return false;
        }
        let are_inverses = |a: &BigUint, b: &BigUint, modulus: &BigUint| a * b % modulus == one;
        let exponents = [p, q].into_iter().zip(self.exponents);
        let mut exponents = exponents.map(|(prime, exponent)| (prime - &one, exponent));
        exponents.all(|(order, exponent)| {
            *exponent < order && are_inverses(exponent, e, &order) && are_inverses(d, e, &order)
        }) && self.coefficient < p
            && are_inverses(self.coefficient, q, p)
    }
}
