//! Keys on the curves of NIST that Envoy takes, in SEC 1 or PKCS#8.
//!
//! ring reads those of P-256 and P-384 that name their public key, and is much faster. Here the public key is computed, so what a key
//! says of it is what BoringSSL finds. Nobody measures how long that takes: it happens once for each Secret.

use rustls::pki_types::PrivateKeyDer;
use x509_parser::num_bigint::BigUint;

use super::der::{self, CONTEXT, INTEGER, OCTET_STRING, SEQUENCE};

/// A curve y² = x³ - 3x + b.
struct Curve {
    /// Its name, in DER.
    name: &'static [u8],
    /// Bytes of a coordinate.
    size: usize,
    /// Numbers in hexadecimal: of the field, of points, and the point that all are multiples of.
    prime: &'static str,
    order: &'static str,
    generator: [&'static str; 2],
}

/// `id-ecPublicKey`, in DER.
const ELLIPTIC: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];

const CURVES: [Curve; 3] = [
    Curve {
        name: &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
        size: 32,
        prime: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
        order: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        generator: [
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
        ],
    },
    Curve {
        name: &[6, 5, 0x2b, 0x81, 4, 0, 0x22],
        size: 48,
        prime: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
        order: "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
        generator: [
            "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
            "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
        ],
    },
    Curve {
        name: &[6, 5, 0x2b, 0x81, 4, 0, 0x23],
        size: 66,
        prime: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        order: "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
        generator: [
            "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
            "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
        ],
    },
];

/// A point (x/z², y/z³).
struct Point {
    x: BigUint,
    y: BigUint,
    z: BigUint,
}

pub(super) fn public_key(key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
    CURVES.iter().find_map(|curve| curve.public_key(key))
}

impl Curve {
    fn public_key(&self, key: &PrivateKeyDer<'_>) -> Option<Vec<u8>> {
        let algorithm = der::sequence(&[ELLIPTIC, self.name]);
        let (der, is_named) = match key {
            PrivateKeyDer::Sec1(key) => (key.secret_sec1_der(), false),
            PrivateKeyDer::Pkcs8(key) => {
                let (named, key) = der::pkcs8(key.secret_pkcs8_der())?;
                ((named == algorithm).then_some(key)?, true)
            }
            _ => return None,
        };
        let parts = der::parts(der)?;
        let [_, secret, rest @ ..] = parts.as_slice() else {
            return None;
        };
        let version = der::value(INTEGER, &[1]);
        let start = [version, der::value(OCTET_STRING, secret.content)].concat();
        let name = der::value(CONTEXT, self.name);
        // Before a point is computed.
        if !(is_named || rest.first().is_some_and(|first| first.whole == name)) {
            return None;
        }
        let point = self.multiple(secret.content)?;
        let public = der::value(CONTEXT + 1, &der::bit_string(&point));
        let both = [name.as_slice(), &public].concat();
        let ends: [&[u8]; 4] = [&[], &name, &public, &both];
        let is_canonical = ends
            .into_iter()
            .any(|end| der == der::value(SEQUENCE, &[&start, end].concat()));
        is_canonical.then(|| der::public_key(&algorithm, &point))
    }

    /// The generator so many times, uncompressed.
    fn multiple(&self, secret: &[u8]) -> Option<Vec<u8>> {
        let number = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16);
        let (prime, order) = (number(self.prime)?, number(self.order)?);
        let [x, y] = self.generator.map(number);
        let (x, y) = (x?, y?);
        let secret = Some(secret).filter(|secret| secret.len() <= self.size)?;
        let secret = BigUint::from_bytes_be(secret);
        if secret == BigUint::ZERO || secret >= order {
            return None;
        }
        let z = BigUint::from(1_u8);
        let mut point = Point {
            x: x.clone(),
            y: y.clone(),
            z,
        };
        // Below the order no sum on the way is that of a point with itself or with its opposite.
        for position in (0..secret.bits() - 1).rev() {
            point = point.doubled(&prime);
            if secret.bit(position) {
                point = point.plus((&x, &y), &prime);
            }
        }
        let inverse = point.z.modinv(&prime)?;
        let square = &inverse * &inverse % &prime;
        let coordinates = [
            point.x * &square % &prime,
            point.y * square * inverse % prime,
        ];
        let mut bytes = vec![4];
        for coordinate in coordinates {
            let digits = coordinate.to_bytes_be();
            bytes.extend(std::iter::repeat_n(0, self.size.checked_sub(digits.len())?));
            bytes.extend(digits);
        }
        Some(bytes)
    }
}

/// The formulas are `dbl-2001-b` and `madd` (2004, Hankerson and others) of hyperelliptic.org/EFD/g1p/auto-shortw-jacobian-3.html.
impl Point {
    fn doubled(&self, prime: &BigUint) -> Point {
        let delta = &self.z * &self.z % prime;
        let gamma = &self.y * &self.y % prime;
        let beta = &self.x * &gamma % prime;
        let alpha = difference(&self.x, &delta, prime) * (&self.x + &delta) * 3_u8 % prime;
        let x = difference(&(&alpha * &alpha), &(&beta << 3), prime);
        let z = &self.y + &self.z;
        let z = difference(&(&z * &z), &(&gamma + &delta), prime);
        let y = alpha * difference(&(beta << 2), &x, prime);
        let y = difference(&y, &((&gamma * &gamma) << 3), prime);
        Point { x, y, z }
    }

    /// With another point, whose z is 1.
    fn plus(&self, (x, y): (&BigUint, &BigUint), prime: &BigUint) -> Point {
        let square = &self.z * &self.z % prime;
        let h = difference(&(x * &square), &self.x, prime);
        let r = difference(&(y * square * &self.z), &self.y, prime);
        let squared = &h * &h % prime;
        let cubed = &squared * &h % prime;
        let v = &self.x * squared % prime;
        let x = difference(&(&r * &r), &(&cubed + (&v << 1)), prime);
        let y = r * difference(&v, &x, prime);
        let y = difference(&y, &(&self.y * cubed), prime);
        let z = &self.z * h % prime;
        Point { x, y, z }
    }
}

/// a - b
fn difference(a: &BigUint, b: &BigUint, prime: &BigUint) -> BigUint {
    (a + prime - b % prime) % prime
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a wrong number, or wrong arithmetic, it is another point.
    #[test]
    fn the_last_multiple_of_a_generator_is_its_opposite() {
        for curve in &CURVES {
            let number = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).unwrap();
            let last = (number(curve.order) - 1_u8).to_bytes_be();
            let point = curve.multiple(&last).unwrap();
            let (x, y) = point[1..].split_at(curve.size);
            assert_eq!(BigUint::from_bytes_be(x), number(curve.generator[0]));
            let y = BigUint::from_bytes_be(y) + number(curve.generator[1]);
            assert_eq!(y, number(curve.prime));
        }
    }
}
