//! Active health checks: requests to endpoints, whose answers say if they get others.

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Serialize, Serializer};

use crate::is_default;

/// How the endpoints of a backend are checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HealthCheck {
    /// Path, with its query.
    pub path: String,
    /// `Host`; `None`: the address of the endpoint.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<String>,
    /// Port of the checks; `None`: that of the endpoint.
    #[serde(skip_serializing_if = "is_default")]
    pub port: Option<NonZeroU16>,
    /// Milliseconds between two checks.
    pub interval: NonZeroU32,
    /// Milliseconds until a check has failed.
    pub timeout: NonZeroU32,
    /// Checks in a row after which an unhealthy endpoint is healthy.
    pub healthy_threshold: NonZeroU16,
    /// Failed checks in a row after which a healthy one is not.
    pub unhealthy_threshold: NonZeroU16,
    /// Statuses of a healthy endpoint.
    pub statuses: StatusRange,
}

impl HealthCheck {
    /// A check of this path, with the defaults.
    #[must_use]
    pub const fn at(path: String) -> Self {
        HealthCheck {
            path,
            host: None,
            port: None,
            interval: NonZeroU32::new(5000).unwrap(),
            timeout: NonZeroU32::new(1000).unwrap(),
            healthy_threshold: NonZeroU16::MIN,
            unhealthy_threshold: NonZeroU16::new(3).unwrap(),
            statuses: StatusRange {
                first: 200,
                last: 399,
            },
        }
    }
}

/// Statuses, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange {
    first: u16,
    last: u16,
}

impl StatusRange {
    /// `None`: there are no such statuses of a response.
    #[must_use]
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (200 <= first && first <= last && last <= 599).then_some(StatusRange { first, last })
    }

    /// True if it is one of them.
    #[must_use]
    pub fn contains(self, status: u16) -> bool {
        (self.first..=self.last).contains(&status)
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StatusRange { first, last } = self;
        match first == last {
            true => write!(f, "{first}"),
            false => write!(f, "{first}-{last}"),
        }
    }
}

impl Serialize for StatusRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_ends() {
        let range = StatusRange::new(200, 399).unwrap();
        let has = [199, 200, 399, 400].map(|status| range.contains(status));
        assert_eq!(has, [false, true, true, false]);
        assert_eq!(range.to_string(), "200-399");
        assert_eq!(StatusRange::new(204, 204).unwrap().to_string(), "204");
        for (first, last) in [(100, 200), (300, 200), (500, 600)] {
            assert_eq!(StatusRange::new(first, last), None);
        }
    }
}
