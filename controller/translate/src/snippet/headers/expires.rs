//! `expires`: how long responses may be kept.

use sluice_ir::Expires;

/// Headers that it writes.
pub(super) const WRITTEN: [&str; 2] = ["cache-control", "expires"];

/// Reads its argument. `None`: it depends on more than the time of the response.
pub(in crate::snippet) fn read(argument: &str) -> Option<Expires> {
    Some(match argument {
        "off" => Expires::Off,
        "epoch" => Expires::Epoch,
        "max" => Expires::Max,
        time => Expires::Seconds(seconds(time)?),
    })
}

/// nginx's `ngx_parse_time` of seconds: numbers with units, each smaller than that before it, and seconds last.
fn seconds(text: &str) -> Option<i32> {
    const UNITS: [(char, i32); 7] = [
        ('y', 365 * 24 * 60 * 60),
        ('M', 30 * 24 * 60 * 60),
        ('w', 7 * 24 * 60 * 60),
        ('d', 24 * 60 * 60),
        ('h', 60 * 60),
        ('m', 60),
        ('s', 1),
    ];
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut units = UNITS.as_slice();
    let (mut total, mut rest) = (0_i32, digits);
    while !rest.is_empty() {
        let end = rest
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, behind) = rest.split_at_checked(end)?;
        let (of_unit, behind) = match behind.chars().next() {
            None => (1, behind),
            Some(unit) => {
                let place = units.iter().position(|(known, _)| *known == unit)?;
                let (_, of_unit) = units.get(place)?;
                units = units.get(place + 1..)?;
                (*of_unit, behind.strip_prefix(unit)?)
            }
        };
        let number: i32 = number.parse().ok()?;
        total = total.checked_add(number.checked_mul(of_unit)?)?;
        rest = behind;
    }
    (!digits.is_empty()).then_some(sign * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_nginx() {
        for (text, expected) in [
            ("0", 0),
            ("3600", 3600),
            ("1h", 3600),
            ("+1h30m", 5400),
            ("1d12h", 129_600),
            ("1y", 31_536_000),
            ("1M", 2_592_000),
            ("2w5", 1_209_605),
            ("-1", -1),
            ("-10m", -600),
        ] {
            assert_eq!(read(text), Some(Expires::Seconds(expected)), "{text}");
        }
        assert_eq!(read("off"), Some(Expires::Off));
        for bad in [
            "",
            "-",
            "h",
            "1x",
            "1m1h",
            "1h1h",
            "@15h",
            "$expires",
            "1 h",
            "100y",
            "99999999999",
            "1ms",
            "1h-1",
            "1\u{e9}",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
