//! Observations of completed requests.

use std::borrow::Cow;
use std::time::Duration;

use sluice_filter_core::Outcome;

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
    pub(crate) fn outcome(&self) -> Outcome<'_> {
        Outcome {
            endpoint: self.endpoint.as_deref(),
            status: self.status,
            response_time: self.response_time,
            attempts: self.attempts,
        }
    }
}
