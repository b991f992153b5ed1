//! Backends that share requests at random, by weight: both data planes are asked often, and how many responses of each kind come is
//! compared. A kind is an upstream, by the header that names it, or responses that are alike in every part.
//!
//! Shares differ when the 99.9% confidence interval of their difference leaves out 0 (R. G. Newcombe, "Interval estimation for the
//! difference between independent proportions", 1998, method 10).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use crate::facts::{Aspect, Fact, Facts};

/// Quantile of the normal distribution for an interval of 99.9%.
const QUANTILE: f64 = 3.2905;
/// Kinds, and values of a part, that are compared: of more, each is too rare.
const MOST_KINDS: usize = 16;
/// Parts that name a kind.
const MOST_PARTS: usize = 2;

/// Part of all responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportion {
    /// Responses of the kind.
    pub count: u32,
    /// All responses; more than 0.
    pub of: u32,
}

impl Proportion {
    fn part(self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }

    /// Wilson's interval.
    fn interval(self, quantile: f64) -> (f64, f64) {
        let (part, of, square) = (self.part(), f64::from(self.of.max(1)), quantile * quantile);
        let centre = part + square / (2.0 * of);
        let half = quantile * (part * (1.0 - part) / of + square / (4.0 * of * of)).sqrt();
        let scale = 1.0 + square / of;
        ((centre - half) / scale, (centre + half) / scale)
    }

    /// Interval of the difference to another share.
    fn difference(self, other: Proportion, quantile: f64) -> (f64, f64) {
        let ((low, high), (other_low, other_high)) =
            (self.interval(quantile), other.interval(quantile));
        let (part, other_part) = (self.part(), other.part());
        let below = (part - low).hypot(other_high - other_part);
        let above = (high - part).hypot(other_part - other_low);
        (part - other_part - below, part - other_part + above)
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval(QUANTILE);
        let percent = |part: f64| part.clamp(0.0, 1.0) * 100.0;
        let (part, low, high) = (percent(self.part()), percent(low), percent(high));
        write!(f, "{part:.0}% ({low:.0}% to {high:.0}%)")
    }
}

impl Serialize for Proportion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.count)
    }
}

/// Responses of one kind from both data planes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// The parts by which it is told from the others.
    pub what: String,
    /// From the old data plane.
    pub old: Proportion,
    /// From the new one.
    pub new: Proportion,
}

impl Kind {
    /// True if chance does not explain how different the shares are.
    pub(crate) fn differs(&self) -> bool {
        let (low, high) = self.new.difference(self.old, QUANTILE);
        low > 0.0 || high < 0.0
    }
}

/// Kinds of responses, the most frequent first, and the parts that are too many things to be compared. `others`: parts that are
/// compared in another way.
pub(crate) fn kinds(
    (old, new): (&[Facts], &[Facts]),
    others: &BTreeSet<&Aspect>,
) -> (Vec<Kind>, Vec<Aspect>) {
    let values = values((old, new));
    let named = values.contains_key(&Aspect::Upstream);
    let is_told = |aspect: &Aspect| {
        !others.contains(aspect)
            && !matches!(aspect, Aspect::CookieValue(_) | Aspect::Certificate)
            && (!named || *aspect == Aspect::Upstream)
    };
    let varying = values
        .iter()
        .filter(|(aspect, values)| is_told(aspect) && (named || values.len() > 1));
    let (few, many): (Vec<_>, Vec<_>) = varying.partition(|(_, values)| values.len() <= MOST_KINDS);
    let by: Vec<&Aspect> = few.into_iter().map(|(aspect, _)| *aspect).collect();
    let mut kinds: Vec<(Vec<Option<&Fact>>, Kind)> = Vec::new();
    for (all, is_new) in [(old, false), (new, true)] {
        for facts in all {
            let key: Vec<Option<&Fact>> = by.iter().map(|aspect| facts.get(*aspect)).collect();
            let place = kinds.iter().position(|(known, _)| *known == key);
            let place = place.unwrap_or_else(|| {
                let kind = kind(&by, &key, (old.len(), new.len()));
                kinds.push((key, kind));
                kinds.len() - 1
            });
            if let Some((_, kind)) = kinds.get_mut(place) {
                let share = if is_new { &mut kind.new } else { &mut kind.old };
                share.count += 1;
            }
        }
    }
    let mut kinds: Vec<Kind> = kinds.into_iter().map(|(_, kind)| kind).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.old.count));
    let many = many.into_iter().map(|(aspect, _)| (*aspect).clone());
    (kinds, many.collect())
}

/// Values of each part.
fn values<'f>(
    (old, new): (&'f [Facts], &'f [Facts]),
) -> BTreeMap<&'f Aspect, Vec<Option<&'f Fact>>> {
    let all = || old.iter().chain(new);
    let aspects: BTreeSet<&Aspect> = all().flat_map(Facts::keys).collect();
    let of = |aspect: &Aspect| {
        let mut values = Vec::new();
        for value in all().map(|facts| facts.get(aspect)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    aspects
        .into_iter()
        .map(|aspect| (aspect, of(aspect)))
        .collect()
}

fn kind(by: &[&Aspect], key: &[Option<&Fact>], (old, new): (usize, usize)) -> Kind {
    let parts = by.iter().zip(key).take(MOST_PARTS);
    let parts = parts.map(|(aspect, fact)| {
        let shown = fact.map_or("none", |fact| fact.shown.as_str());
        format!("{aspect} {shown}")
    });
    let none = |of: usize| Proportion {
        count: 0,
        of: u32::try_from(of).unwrap_or(u32::MAX),
    };
    Kind {
        what: parts.collect::<Vec<_>>().join(", "),
        old: none(old),
        new: none(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(count: u32, of: u32) -> Proportion {
        Proportion { count, of }
    }

    /// The examples of the paper, its table II, for 95%.
    #[test]
    fn intervals_are_newcombes() {
        for (one, other, low, high) in [
            (share(56, 70), share(48, 80), 0.0524, 0.3339),
            (share(9, 10), share(3, 10), 0.1705, 0.8090),
            (share(10, 10), share(0, 10), 0.6075, 1.0),
            (share(0, 10), share(0, 10), -0.2775, 0.2775),
        ] {
            let (found_low, found_high) = one.difference(other, 1.959_96);
            let is_near = |found: f64, expected: f64| (found - expected).abs() < 0.0001;
            assert!(
                is_near(found_low, low) && is_near(found_high, high),
                "{one:?} {other:?}: {found_low} {found_high}"
            );
        }
    }

    fn draws(weight: u64, seed: &mut u64) -> u32 {
        let mut count = 0;
        for _ in 0..100 {
            // SplitMix64.
            *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = *seed;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            count += u32::from((word ^ (word >> 31)) % 100 < weight);
        }
        count
    }

    #[test]
    fn equal_weights_hardly_ever_differ_and_others_do() {
        let mut seed = 1;
        let mut differing = |old: u64, new: u64| {
            let differ = (0..2000).filter(|_| {
                let kind = Kind {
                    what: String::new(),
                    old: share(draws(old, &mut seed), 100),
                    new: share(draws(new, &mut seed), 100),
                };
                kind.differs()
            });
            differ.count()
        };
        for weight in [0, 1, 5, 20, 50, 80, 99, 100] {
            let count = differing(weight, weight);
            assert!(count <= 8, "{weight}%: {count} of 2000");
        }
        for (old, new) in [(0, 20), (20, 0), (20, 60), (50, 100), (10, 50)] {
            let count = differing(old, new);
            assert!(count > 1900, "{old}% {new}%: {count} of 2000");
        }
    }

    #[test]
    fn a_share_is_shown_with_its_interval() {
        assert_eq!(share(20, 100).to_string(), "20% (10% to 36%)");
        assert_eq!(share(0, 100).to_string(), "0% (0% to 10%)");
    }
}
