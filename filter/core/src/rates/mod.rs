//! Rates of the requests of each client, over all workers of a data plane.
//!
//! ```text
//!   zone, address --hash--> client --low bits--> slot: [client and period, full at, gap] ...   shared, compare and swap
//! ```
//!
//! The leaky bucket of nginx's `limit_req` with `nodelay`, written as one time (GCRA, ITU-T I.371): that at which the client has
//! nothing in its bucket. Each request moves it by the gap between two of them, and none may move it further than the burst.
//! A client whose time is over is as one that never came, so it is forgotten for nothing.
//!
//! Nothing can be deleted from the memory that VMs share, so it is bounded by its layout: [`SLOTS`] values of at most
//! [`Slot::MOST`] times, 5 MB as a zone of ingress-nginx, for all zones. In a full slot the client with the fewest requests in its
//! bucket is forgotten: a flood of addresses displaces addresses of the flood, not those that have used their burst. No client
//! can choose whose slot it shares: its place depends on a random number.

mod slot;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};

use sluice_filter_config::{self as wire, Network};

use crate::shared::{Seed, Shared, Unavailable, change};
use crate::{Reply, Rng, Timestamp, client};
use slot::{Bucket, Slot};

const SLOTS: u64 = 4096;
/// Changes with the layout of what is shared: VMs of an older filter may still be there.
const PREFIX: &str = "sluice.rates.1";
const SEED: &str = "sluice.rates.1.seed";

/// How many requests of one client a route serves in a time.
#[derive(Debug)]
pub struct RateLimit {
    zone: Box<str>,
    buckets: Vec<Bucket>,
    status: u16,
    exempt: Vec<Network>,
}

impl RateLimit {
    /// Response to a client over the limit.
    #[must_use]
    pub fn refusal(&self) -> Reply {
        Reply {
            status: self.status,
            body: "too many requests of this client\n",
        }
    }
}

impl From<wire::Rates> for RateLimit {
    fn from(rates: wire::Rates) -> Self {
        RateLimit {
            zone: rates.zone.into(),
            buckets: rates.limits.into_iter().map(Bucket::from).collect(),
            status: rates.status,
            exempt: rates.exempt,
        }
    }
}

/// Access of one worker to the counts of all.
#[derive(Debug)]
pub struct Rates {
    seed: Seed,
}

impl Rates {
    /// Of a worker that has just started.
    pub fn new(rng: &mut impl Rng) -> Self {
        Rates {
            seed: Seed::new(rng),
        }
    }

    /// Counts a request of this client address; `false` refuses it, and then it does not count.
    pub fn admit(
        &mut self,
        limit: &RateLimit,
        address: &[u8],
        now: Timestamp,
        shared: &impl Shared,
    ) -> Result<bool, Unavailable> {
        if client::is_among(&limit.exempt, address) {
            return Ok(true);
        }
        let mut hasher = DefaultHasher::new();
        (self.seed.read(SEED, shared)?, &limit.zone, address).hash(&mut hasher);
        let client = hasher.finish();
        let key = format!("{PREFIX}.{}", client % SLOTS);
        let mut is_admitted = false;
        let is_settled = change(&key, shared, |bytes| {
            let mut slot = Slot::read(bytes, now);
            is_admitted = slot.admit(client, &limit.buckets, now);
            Ok(is_admitted.then(|| slot.write()))
        })?;
        Ok(is_admitted && is_settled)
    }
}
