//! nginx's times.

/// Seconds of the longest timeout that an annotation may have.
const MAX_SECONDS: u32 = i32::MAX as u32 / 1000;

/// Seconds, as nginx's `ngx_parse_time` reads them: numbers with units, each smaller than that before it, and seconds last.
pub(in crate::snippet) fn seconds(text: &str) -> Option<i32> {
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

/// Seconds of a timeout that annotations may have as well: a whole number of one unit, and one second at least.
pub(in crate::snippet) fn timeout(time: &str) -> Option<u32> {
    let (number, unit) = match time.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => time.split_at(end),
        None => (time, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    let seconds = number.parse::<u32>().ok()?.checked_mul(factor)?;
    (1..=MAX_SECONDS).contains(&seconds).then_some(seconds)
}
