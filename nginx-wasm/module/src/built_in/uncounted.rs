//! Counters of clients' requests: nginx has its own (`limit_req`, `limit_conn`).

use sluice_filter_core::Timestamp;
use sluice_filter_core::connections::{Client, ConnectionLimit, Entry};
use sluice_filter_core::rates::RateLimit;
use sluice_filter_core::shared::Unavailable;
use sluice_filter_worker::Counters;

/// Nothing is counted here.
#[derive(Debug)]
pub(super) struct Uncounted;

impl Counters for Uncounted {
    fn admit(&mut self, _: &RateLimit, _: &[u8], _: Timestamp) -> Result<bool, Unavailable> {
        Err(Unavailable)
    }

    fn enter(&mut self, _: &ConnectionLimit, _: &[u8], _: Timestamp) -> Result<Entry, Unavailable> {
        Err(Unavailable)
    }

    fn leave(&mut self, _: Client) {}

    fn take_failure_notice(&mut self) -> bool {
        false
    }
}
