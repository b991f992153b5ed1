//! Observations of completed requests.

use std::borrow::Cow;
use std::time::Duration;

use sluice_filter_core::{Interest, Outcome, attempts};

/// The text behind an [`Outcome`].
#[derive(Debug, Default)]
pub struct Observation<'a> {
    /// `ip:port` of the last attempt.
    pub endpoint: Option<Cow<'a, str>>,
    /// The status that the client saw.
    pub status: Option<u16>,
    /// How long the last attempt took.
    pub response_time: Option<Duration>,
    /// How many attempts there were.
    pub attempts: u32,
}

impl Observation<'_> {
    /// From nginx's lists of what was tried, how that was answered and how long it took: `$upstream_addr`, `$upstream_status`,
    /// `$upstream_connect_time` and `$upstream_response_time`.
    #[must_use]
    pub fn of_nginx([tried, status, connect, response]: [&str; 4], interest: Interest) -> Self {
        // There is a time even where there was no response.
        let status: Option<u16> = attempts(status)
            .last()
            .and_then(|status| status.parse().ok());
        let seconds = |list| {
            attempts(list)
                .last()?
                .parse::<f64>()
                .ok()
                .filter(|seconds| *seconds >= 0.0)
        };
        // ingress-nginx adds both, although the second contains the first; a part that is missing counts as nothing.
        let latency = || {
            let total: f64 = [connect, response].into_iter().filter_map(seconds).sum();
            Duration::try_from_secs_f64(total).ok()
        };
        Observation {
            endpoint: attempts(tried)
                .last()
                .map(|last| Cow::Owned(last.to_owned())),
            status,
            response_time: (interest.latency && status.is_some())
                .then(latency)
                .flatten(),
            attempts: u32::try_from(attempts(tried).count()).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            endpoint: self.endpoint.as_deref(),
            status: self.status,
            response_time: self.response_time,
            attempts: self.attempts,
        }
    }
}
