//! Caching of the answers of external authentication.

use std::collections::BTreeMap;

use sluice_ir::{AuthCache, Expression};

use crate::value::{self, Parsed};

/// Cache duration of answers, by status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    statuses: BTreeMap<u16, u32>,
    others: u32,
}

impl Durations {
    /// A cache with this key.
    #[must_use]
    pub fn with(self, key: Expression) -> AuthCache {
        AuthCache {
            key,
            ttl_by_status: self.statuses,
            default_ttl: self.others,
        }
    }
}

/// The default of ingress-nginx: `200 202 401 5m`.
#[must_use]
pub fn default_durations() -> Durations {
    Durations {
        statuses: [200, 202, 401].map(|status| (status, 300)).into(),
        others: 0,
    }
}

/// nginx's `proxy_cache_valid`: statuses, or `any`, and a time; several of them between commas.
pub fn durations(text: &str) -> Parsed<Durations> {
    const EXPECTED: &str = "statuses and a time, such as 200 202 401 5m";
    let mut durations = Durations::default();
    for part in value::list(text) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (time, statuses) = words.split_last().ok_or(EXPECTED)?;
        let seconds = time_of(time).ok_or(EXPECTED)?;
        if statuses.is_empty() {
            durations
                .statuses
                .extend([200, 301, 302].map(|status| (status, seconds)));
        }
        for status in statuses {
            match status.parse() {
                Ok(status @ 100..=599) => drop(durations.statuses.insert(status, seconds)),
                _ if *status == "any" => durations.others = seconds,
                _ => return Err(EXPECTED.into()),
            }
        }
    }
    if durations == Durations::default() {
        Err(EXPECTED.into())
    } else {
        Ok(durations)
    }
}

/// nginx: `90`, `90s`, `5m`, `1h30m`, `1d`. In seconds.
fn time_of(text: &str) -> Option<u32> {
    let (mut total, mut digits) = (0u32, String::new());
    for letter in text.chars() {
        let unit = match letter {
            '0'..='9' => {
                digits.push(letter);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return None,
        };
        total = total.checked_add(
            std::mem::take(&mut digits)
                .parse::<u32>()
                .ok()?
                .checked_mul(unit)?,
        )?;
    }
    if digits.is_empty() {
        Some(total).filter(|_| !text.is_empty())
    } else {
        total.checked_add(digits.parse().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_remembered_by_status() {
        let found = durations("200 202 401 5m, 403 1h30m, any 10").unwrap();
        assert_eq!(
            (found.statuses[&401], found.statuses[&403], found.others),
            (300, 5400, 10)
        );
        assert_eq!(durations("90s").unwrap().statuses[&301], 90);
        for bad in [
            "",
            "200",
            "200 5x",
            "m",
            "20000 5m",
            "200 99999999999m",
            "x 5m",
        ]
        .into_iter()
        .filter(|text| *text != "200")
        {
            assert!(durations(bad).is_err(), "{bad:?}");
        }
    }
}
