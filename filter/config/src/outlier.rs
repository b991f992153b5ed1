//! Numbers of backends that have a range of their own.

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};

/// When an endpoint is left out for its failures (5xx and failed connections), and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outlier {
    /// Failures in a row.
    pub consecutive_5xx: NonZeroU16,
    /// Seconds out, times the number of ejections so far.
    pub base_ejection: NonZeroU32,
    /// No more than this share of the endpoints is out at a time.
    pub max_ejected: Percent,
    /// With less than this share of the endpoints left, ejection fails open: all serve.
    pub panic_threshold: Percent,
}

/// From 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Percent(u8);

/// How far above the mean a load may go, in percent of the mean: more than 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct LoadFactor(NonZeroU16);

/// A number outside of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    expected: &'static str,
    got: u16,
}

impl Percent {
    /// At most 100.
    #[must_use]
    pub const fn new(percent: u8) -> Option<Self> {
        if percent <= 100 {
            Some(Percent(percent))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl LoadFactor {
    /// The percentage.
    #[must_use]
    pub const fn percent(self) -> u16 {
        self.0.get()
    }
}

impl TryFrom<u16> for Percent {
    type Error = OutOfRange;

    fn try_from(got: u16) -> Result<Self, OutOfRange> {
        let percent = u8::try_from(got).ok().and_then(Percent::new);
        percent.ok_or(OutOfRange {
            expected: "0 to 100",
            got,
        })
    }
}

impl From<Percent> for u16 {
    fn from(percent: Percent) -> u16 {
        percent.0.into()
    }
}

impl TryFrom<u16> for LoadFactor {
    type Error = OutOfRange;

    fn try_from(got: u16) -> Result<Self, OutOfRange> {
        let factor = NonZeroU16::new(got).filter(|factor| factor.get() > 100);
        factor.map(LoadFactor).ok_or(OutOfRange {
            expected: "more than 100",
            got,
        })
    }
}

impl From<LoadFactor> for u16 {
    fn from(factor: LoadFactor) -> u16 {
        factor.0.get()
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a percentage of {}, got {}",
            self.expected, self.got
        )
    }
}

impl std::error::Error for OutOfRange {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_of_their_range_are_refused() {
        assert!(Percent::try_from(100).is_ok());
        assert!(LoadFactor::try_from(101).is_ok());
        let error = LoadFactor::try_from(100).unwrap_err().to_string();
        assert_eq!(error, "expected a percentage of more than 100, got 100");
        assert_eq!(
            Percent::try_from(101).unwrap_err().to_string(),
            "expected a percentage of 0 to 100, got 101"
        );
    }
}
