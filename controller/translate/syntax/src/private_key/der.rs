//! DER of keys. It is read as asn1-rs reads it, and each reader compares it with what it would have written: there is one encoding of
//! a value, and BoringSSL takes no other.

use x509_parser::asn1_rs::{Any, FromDer};
use x509_parser::num_bigint::BigUint;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const SEQUENCE: u8 = 0x30;
/// `[0]` and `[1]`, of which the latter is written with the number added.
pub(super) const CONTEXT: u8 = 0xa0;

/// No key has more.
const MAX_PARTS: usize = 16;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// With its tag and its length.
    pub(super) whole: &'a [u8],
    pub(super) content: &'a [u8],
}

/// The parts of a SEQUENCE that is all of this.
pub(super) fn parts(der: &[u8]) -> Option<Vec<Part<'_>>> {
    let (outer, behind) = part(der)?;
    if !behind.is_empty() || outer.whole.first() != Some(&SEQUENCE) {
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
    let whole = der.get(..der.len().checked_sub(behind.len())?)?;
    let content = value.as_bytes();
    Some((Part { whole, content }, behind))
}

/// Algorithm and key of a PKCS#8 structure. Attributes, which Windows adds, say nothing of the key.
pub(super) fn pkcs8(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let parts = parts(der)?;
    let (version, algorithm, key, attributes) = match parts.as_slice() {
        [version, algorithm, key] => (version, algorithm, key, [].as_slice()),
        [version, algorithm, key, attributes] if attributes.whole.first() == Some(&CONTEXT) => {
            (version, algorithm, key, attributes.whole)
        }
        _ => return None,
    };
    let first = integer(&BigUint::ZERO);
    let again = [
        first.as_slice(),
        algorithm.whole,
        &value(OCTET_STRING, key.content),
        attributes,
    ];
    (version.whole == first && der == sequence(&again)).then_some((algorithm.whole, key.content))
}

/// A value with its tag and its length.
pub(super) fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut all = vec![tag];
    match u8::try_from(length) {
        Ok(length) if length < 0x80 => all.push(length),
        _ => {
            let bytes = length.to_be_bytes();
            let bytes: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
            // A length has no more than eight bytes.
            all.push(0x80 | u8::try_from(bytes.len()).unwrap_or_default());
            all.extend(bytes);
        }
    }
    all.extend(content);
    all
}

pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(SEQUENCE, &parts.concat())
}

pub(super) fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    value(INTEGER, &bytes)
}

/// Whole bytes as a BIT STRING.
pub(super) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    value(BIT_STRING, &[&[0], bytes].concat())
}

/// SubjectPublicKeyInfo.
pub(super) fn public_key(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    sequence(&[algorithm, &bit_string(key)])
}
