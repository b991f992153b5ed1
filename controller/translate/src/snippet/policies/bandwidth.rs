//! `limit_rate` and `limit_rate_after`: bandwidth of one response, and how much of it comes before that.

use std::num::NonZeroU32;

use sluice_ir::Policy;
use sluice_syntax::value;

const KIB: u64 = 1024;

/// Both in KiB, as data planes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bandwidth {
    /// In a second.
    pub(crate) rate: Option<NonZeroU32>,
    pub(crate) after: Option<u32>,
}

impl Bandwidth {
    /// Takes one directive; `true`: it is the first of its name. `None`: it is none of these.
    pub(in crate::snippet) fn add(&mut self, words: &[&str]) -> Option<bool> {
        Some(match *words {
            ["limit_rate", size] => {
                let rate = NonZeroU32::new(kib(size)?)?;
                self.rate.replace(rate).is_none()
            }
            ["limit_rate_after", size] => self.after.replace(kib(size)?).is_none(),
            _ => return None,
        })
    }

    /// In place of what annotations and the ConfigMap say.
    pub(in crate::snippet) fn apply_to(self, policy: &mut Policy) {
        policy.bandwidth_limit = self.rate.or(policy.bandwidth_limit);
        policy.bandwidth_limit_after = self.after.unwrap_or(policy.bandwidth_limit_after);
    }

    /// Envoy limits responses from the first byte.
    pub(super) fn begins_later(self) -> bool {
        self.after.is_some_and(|size| size > 0)
    }
}

fn kib(size: &str) -> Option<u32> {
    let bytes = value::size(size).ok()?;
    let whole = bytes.is_multiple_of(KIB).then_some(bytes / KIB)?;
    u32::try_from(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(directives: &[&str]) -> Option<Bandwidth> {
        let mut bandwidth = Bandwidth::default();
        for directive in directives {
            let words: Vec<&str> = directive.split(' ').collect();
            bandwidth.add(&words).filter(|is_first| *is_first)?;
        }
        Some(bandwidth)
    }

    #[test]
    fn sizes_are_in_whole_kib() {
        for (size, kib) in [("100k", 100), ("1m", 1024), ("2048", 2)] {
            let rate = read(&[&format!("limit_rate {size}")]).unwrap();
            assert_eq!(rate.rate, NonZeroU32::new(kib), "{size}");
            let after = read(&[&format!("limit_rate_after {size}")]).unwrap();
            assert_eq!(after.after, Some(kib), "{size}");
        }
        let none = read(&["limit_rate_after 0"]).unwrap();
        assert_eq!((none.after, none.begins_later()), (Some(0), false));
        for bad in [
            &["limit_rate 1000"][..],
            &["limit_rate 0"],
            &["limit_rate $rate"],
            &["limit_rate 1k", "limit_rate 1k"],
            &["limit_rate 9999999999g"],
            &["limit_rate_after 1000"],
            &["limit_rate_after $a"],
            &["limit_rate_after -1"],
            &["limit_rate_after 1k", "limit_rate_after 1k"],
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_policy_keeps_what_is_not_said() {
        let mut policy = Policy {
            bandwidth_limit: NonZeroU32::new(5),
            ..Policy::default()
        };
        let delayed = read(&["limit_rate_after 1m"]).unwrap();
        delayed.apply_to(&mut policy);
        assert_eq!(policy.bandwidth_limit, NonZeroU32::new(5));
        assert_eq!(policy.bandwidth_limit_after, 1024);
    }
}
