//! Counts of each client's requests, shared by the workers of a data plane.

use sluice_filter_core::connections::{Client, ConnectionLimit, Connections, Entry};
use sluice_filter_core::rates::{RateLimit, Rates};
use sluice_filter_core::shared::{Shared, Unavailable};
use sluice_filter_core::{Rng, Timestamp};

/// Counts of requests, by client address.
pub trait Counters {
    /// Counts a request for a rate; `false` refuses it.
    fn admit(
        &mut self,
        limit: &RateLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Counts a request that begins, unless that is too much.
    fn enter(
        &mut self,
        limit: &ConnectionLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<Entry, Unavailable>;

    /// A request that was counted is over.
    fn leave(&mut self, client: Client);

    /// True the first time: that the host shares no data is logged once, not with each request.
    fn take_failure_notice(&mut self) -> bool;
}

/// Counts in memory that workers share.
#[derive(Debug)]
pub struct SharedCounters<S> {
    rates: Rates,
    connections: Connections,
    shared: S,
    is_failure_told: bool,
}

impl<S: Shared> SharedCounters<S> {
    /// Of a worker that has just started.
    pub fn new(shared: S, rng: &mut impl Rng) -> Self {
        SharedCounters {
            connections: Connections::new(rng),
            rates: Rates::new(rng),
            shared,
            is_failure_told: false,
        }
    }

    /// Says that this worker still lives, so that its counts do not lapse. Counts of a process that share nothing with others need no such
    /// sign: they end with it.
    pub fn heartbeat(&mut self, now: impl FnOnce() -> Timestamp) {
        self.connections.tick(now, &self.shared);
    }
}

impl<S: Shared> Counters for SharedCounters<S> {
    fn admit(
        &mut self,
        limit: &RateLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.rates.admit(limit, address, now, &self.shared)
    }

    fn enter(
        &mut self,
        limit: &ConnectionLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<Entry, Unavailable> {
        self.connections.enter(limit, address, now, &self.shared)
    }

    fn leave(&mut self, client: Client) {
        self.connections.leave(client, &self.shared);
    }

    fn take_failure_notice(&mut self) -> bool {
        !std::mem::replace(&mut self.is_failure_told, true)
    }
}
