//! State of an endpoint in one worker: live state, which is kept when the tables are replaced.

use std::time::Duration;

use crate::Timestamp;
use crate::outlier::Record;

/// An endpoint, for as long as it belongs to its backend: positions change with the tables, serials do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serial(pub u64);

/// The live state of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct EndpointState {
    /// Identity of the endpoint across tables.
    pub serial: Serial,
    /// Requests that were sent to it and are not over.
    pub in_flight: u32,
    /// Since when it is there; the start of time for those that were there from the start.
    pub joined: Timestamp,
    /// The moving average of its response times; none before the first answer.
    pub latency: Option<Latency>,
    /// Its failures.
    pub record: Record,
}

/// An exponentially weighted moving average over time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The average when it was touched.
    pub average: f64,
    /// When that was.
    pub touched: Timestamp,
}

/// How long new endpoints take to their full share; off without a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowStart(pub Option<Duration>);

impl SlowStart {
    /// A cold endpoint gets this much at once, or nothing would ever warm it.
    const FLOOR: f64 = 0.1;

    /// The part of its share that an endpoint has: from [`SlowStart::FLOOR`], linearly, to 1.
    #[must_use]
    pub fn ramp(self, joined: Timestamp, now: Timestamp) -> f64 {
        let Some(window) = self.0 else { return 1.0 };
        let age = now.since(joined);
        if age >= window {
            return 1.0;
        }
        (age.as_secs_f64() / window.as_secs_f64()).max(Self::FLOOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_new_endpoint_grows_to_its_share_and_an_old_one_has_it() {
        let slow = SlowStart(Some(Duration::from_secs(10)));
        assert_eq!(slow.ramp(at(100), at(100)), 0.1);
        assert_eq!(slow.ramp(at(100), at(105)), 0.5);
        assert_eq!(slow.ramp(at(100), at(110)), 1.0);
        assert_eq!(slow.ramp(Timestamp::default(), at(100)), 1.0);
        assert_eq!(SlowStart::default().ramp(at(100), at(100)), 1.0);
    }
}
