//! DER of keys, where a value has one encoding. asn1-rs reads longer ones of lengths and numbers, too, which BoringSSL does not take.

use x509_parser::asn1_rs::{Any, FromDer, ToDer};
use x509_parser::num_bigint::{BigInt, BigUint};

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
/// `[0]`, constructed: attributes in PKCS#8, the curve in SEC1.
const FIRST: u8 = 0xa0;

/// No key has more.
const MAX_PARTS: usize = 16;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// Class, form and number: keys have none with more bytes.
    tag: u8,
    /// With its tag and its length.
    pub(super) whole: &'a [u8],
    pub(super) content: &'a [u8],
}

impl Part<'_> {
    /// A number that is not negative.
    pub(super) fn number(&self) -> Option<BigUint> {
        let number = BigInt::from_signed_bytes_be(self.content);
        let is_shortest = number.to_signed_bytes_be() == self.content;
        let is_number = self.tag == INTEGER && is_shortest;
        number.to_biguint().filter(|_| is_number)
    }
}

/// The parts of a SEQUENCE that is all of this.
pub(super) fn parts(der: &[u8]) -> Option<Vec<Part<'_>>> {
    let (outer, behind) = part(der)?;
    if !behind.is_empty() || outer.tag != SEQUENCE {
        return None;
    }
    let (mut all, mut rest) = (Vec::new(), outer.content);
    while !rest.is_empty() && all.len() < MAX_PARTS {
        let (first, behind) = part(rest)?;
        all.push(first);
        rest = behind;
    }
    rest.is_empty().then_some(all)
}

fn part(der: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (behind, value) = Any::from_der(der).ok()?;
    let whole = der.strip_suffix(behind)?;
    let part = Part {
        tag: *whole.first()?,
        whole,
        content: value.data,
    };
    (value.to_der_vec().ok()? == whole).then_some((part, behind))
}

/// Algorithm and key of a PKCS#8 structure. Attributes, which Windows adds, say nothing of the key.
pub(super) fn pkcs8(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let parts = parts(der)?;
    let (version, algorithm, key) = match parts.as_slice() {
        [version, algorithm, key] => (version, algorithm, key),
        [version, algorithm, key, last] if last.tag == FIRST => (version, algorithm, key),
        _ => return None,
    };
    let is_first = version.number()? == BigUint::ZERO;
    let are_tagged = algorithm.tag == SEQUENCE && key.tag == OCTET_STRING;
    (is_first && are_tagged).then_some((algorithm.content, key.content))
}

/// True if a SEC1 structure names its curve.
pub(super) fn has_curve(der: &[u8]) -> bool {
    let parts = parts(der).unwrap_or_default();
    parts.get(2).is_some_and(|third| third.tag == FIRST)
}
