//! Texts of annotations to values. The error says what was expected; who asks knows what it got.
//!
//! Parsers read the whole text (R3 of the security rules): no text that only contains a value is one.

use std::borrow::Cow;

use sluice_ir::{Cidr, HeaderName, InvalidHeaderName};

use crate::dns_name::is_dns_name;

/// Description of valid values, to be read after the word "expected".
pub type Expected = Cow<'static, str>;

/// A value, or what was expected in its place.
pub type Parsed<T> = Result<T, Expected>;

/// As Go's `strconv.ParseBool` has it.
pub fn bool(text: &str) -> Parsed<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("true or false".into()),
    }
}

/// `on` or `off`.
pub fn on_off(text: &str) -> Parsed<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".into()),
    }
}

/// Any integer that Go's `strconv.Atoi` reads.
pub fn int(text: &str) -> Parsed<i64> {
    text.parse().map_err(|_| "an integer".into())
}

/// A count of something; negative ones are as good as none.
pub fn count(text: &str) -> Parsed<u32> {
    let number = int(text)?;
    u32::try_from(number.max(0)).map_err(|_| format!("an integer up to {}", u32::MAX).into())
}

/// Whole seconds. nginx refuses negative ones.
pub fn seconds(text: &str) -> Parsed<u32> {
    /// A year; longer ones only overflow somewhere.
    const LONGEST: i64 = 31_536_000;
    match int(text) {
        Ok(number @ 0..=LONGEST) => Ok(u32::try_from(number).unwrap_or_default()),
        _ => Err(format!("seconds from 0 to {LONGEST}").into()),
    }
}

/// A time with a unit, as nginx and Go have it: `90s`, `1h`, `500ms`; without one it is of seconds. In milliseconds.
pub fn span(text: &str) -> Parsed<u32> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let span = unit.and_then(|unit: u32| number.parse::<u32>().ok()?.checked_mul(unit));
    span.ok_or_else(|| "a time such as 500ms, 60s or 1h, up to 49 days".into())
}

/// nginx: digits and one letter, `8m`. In bytes, of which nginx counts 2^63.
pub fn size(text: &str) -> Parsed<u64> {
    let expected = || Expected::from("a size such as 512k, 8m or 1g");
    let (digits, unit) = match text.char_indices().last() {
        Some((at, letter)) if letter.is_ascii_alphabetic() => {
            (&text[..at], letter.to_ascii_lowercase())
        }
        _ => (text, 'b'),
    };
    let factor: u64 = match unit {
        'b' => 1,
        'k' => 1 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        _ => return Err(expected()),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(expected());
    }
    let bytes = digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor));
    bytes
        .filter(|bytes| i64::try_from(*bytes).is_ok())
        .ok_or_else(expected)
}

/// A URL or a path, without variables of nginx.
pub fn url(text: &str) -> Parsed<String> {
    const LONGEST: usize = 2000;
    let allowed =
        |letter: char| letter.is_ascii_alphanumeric() || "-._~/:?#[]@!&'()*+,;=%".contains(letter);
    let valid = text.len() <= LONGEST && text.chars().all(allowed);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("a URL without variables".into())
    }
}

/// A path with what may not stand in one written as `%XX`.
pub fn percent_encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:@!$&'()*+,;=".contains(&byte);
    path.bytes().fold(String::new(), |path, byte| {
        if is_plain(byte) {
            path + &char::from(byte).to_string()
        } else {
            path + &format!("%{byte:02X}")
        }
    })
}

/// Parts between commas, trimmed, without empty ones.
pub fn list(text: &str) -> Vec<&str> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

const CIDRS: &str = "IP addresses and CIDRs such as 10.0.0.0/8, separated by commas";

/// Addresses and CIDRs, sorted, each once.
pub fn cidrs(text: &str) -> Parsed<Vec<Cidr>> {
    let read = |text: &str| text.parse().map_err(|_| Expected::from(CIDRS));
    let mut cidrs: Vec<Cidr> = list(text).into_iter().map(read).collect::<Parsed<_>>()?;
    cidrs.sort();
    cidrs.dedup();
    // Nobody is not a list: it would mean everybody.
    if cidrs.is_empty() {
        Err(CIDRS.into())
    } else {
        Ok(cidrs)
    }
}

/// The name of an object in the Ingress's own namespace, or `namespace/name`.
pub fn reference(text: &str) -> Parsed<(Option<&str>, &str)> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, text),
    };
    let valid = is_dns_name(name) && namespace.is_none_or(is_dns_name);
    if valid {
        Ok((namespace, name))
    } else {
        Err("a name, or a namespace, a slash and a name".into())
    }
}

/// RFC 1035: the name of a Service.
pub fn service(text: &str) -> Parsed<&str> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let valid = (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-');
    if valid {
        Ok(text)
    } else {
        Err("the name of a Service".into())
    }
}

/// The name of a header that is only read: whichever there is.
pub fn header_name(text: &str) -> Parsed<String> {
    match HeaderName::parse(text) {
        Err(syntax @ InvalidHeaderName::Syntax) => Err(syntax.to_string().into()),
        Ok(_) | Err(_) => Ok(text.to_owned()),
    }
}

/// The name of a header that is set or taken away.
pub fn own_header(text: &str) -> Parsed<HeaderName> {
    HeaderName::parse(text).map_err(|invalid| invalid.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_contains_a_value_is_none() {
        for bad in ["true ", " true", "yes", "trueish", "TrUe", ""] {
            assert!(bool(bad).is_err(), "{bad:?}");
        }
        for bad in [
            "8mb",
            "m",
            "",
            "-1",
            "8 m",
            "8.5m",
            "0x8",
            "99999999999999999999g",
            "9000000000g",
            "\u{666}m",
        ] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
        for bad in [
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.1,nonsense",
            "::/129",
            "10.0.0",
        ] {
            assert!(cidrs(bad).is_err(), "{bad:?}");
        }
        for bad in ["a/b/c", "/a", "a/", "A", "a b", "../a"] {
            assert!(reference(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(size("0"), Ok(0));
        assert_eq!(size("8m"), Ok(8 << 20));
        assert_eq!(size("1G"), Ok(1 << 30));
        assert_eq!(size("5b"), Ok(5));
    }

    #[test]
    fn lists_of_addresses_are_sorted_sets_of_networks() {
        let texts: Vec<_> = cidrs("10.1.2.3/8, 10.0.0.0/8 ,::1,")
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts, ["10.0.0.0/8", "::1/128"]);
    }

    #[test]
    fn times_have_one_unit_and_are_no_longer_than_can_be_counted() {
        assert_eq!(
            [span("5s"), span("5"), span("1h"), span("7ms")],
            [Ok(5000), Ok(5000), Ok(3_600_000), Ok(7)]
        );
        for bad in ["", "s", "-1s", "1.5h", "1h30m", "50d", "5 s"] {
            assert!(span(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn seconds_carry_no_unit() {
        assert_eq!(seconds("60"), Ok(60));
        for bad in ["-1", "60s", "1m", "s", "99999999999"] {
            assert!(seconds(bad).is_err(), "{bad:?}");
        }
    }
}
