//! Concurrent requests of each client, over all workers of a data plane.
//!
//! ```text
//!   zone, address --hash--> client --low bits--> slot: [client, worker, count] ...   shared, compare and swap
//!                                      workers: [worker, last heartbeat] ...         shared, compare and swap
//! ```
//!
//! Admission of a request and its count are one exchange of its slot, so the limit is exact whichever worker counts at the same
//! moment. A worker writes its own count of a client and not a difference, so a lost update is corrected by the
//! next one.
//!
//! Only counts of living workers are valid. A VM that trapped or a thread that ended cannot report the requests that it still
//! had; without a heartbeat its counts lapse after [`LAPSE`].
//!
//! Nothing can be deleted from the memory that VMs share, so it is bounded by its layout: [`SLOTS`] values of at most
//! [`Slot::MOST`] counts. A client without room is rejected, as by nginx when a zone is full. No client can fill the room of
//! another client on purpose: its place depends on a random number.

mod slot;
#[cfg(test)]
mod tests;
mod workers;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

pub use crate::connection_limit::ConnectionLimit;
use slot::Slot;
use workers::Workers;

use crate::shared::{Seed, Shared, Unavailable, change};
use crate::tables::ById;
use crate::{Rng, Timestamp, client};

const SLOTS: u64 = 4096;
/// A worker that has something in process says at least this often that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// A worker that was not heard of for so long is gone. Longer than any worker is busy without a pause.
const LAPSE: Duration = Duration::from_secs(10);
/// Changes with the layout of what is shared: VMs of an older filter may still be there.
const PREFIX: &str = "sluice.connections.1";
const SEED: &str = "sluice.connections.1.seed";

/// A client of a zone, to be given back when its request is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client(u64);

/// Admission of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It is counted.
    Counted(Client),
    /// It is not counted, and may.
    Exempt,
    /// There are as many as may be, or their number is not known.
    Refused,
}

impl Entry {
    /// The client that it is counted for.
    #[must_use]
    pub fn client(self) -> Option<Client> {
        match self {
            Entry::Counted(client) => Some(client),
            Entry::Exempt | Entry::Refused => None,
        }
    }
}

/// Counts of one worker, and its access to those of the others.
#[derive(Debug)]
pub struct Connections {
    /// Of this VM, for as long as it lives.
    worker: u32,
    seed: Seed,
    beaten: Option<Timestamp>,
    open: ById<u64, u32>,
}

impl Connections {
    /// Of a worker that has just started.
    pub fn new(rng: &mut impl Rng) -> Self {
        let worker = u32::try_from(rng.next_u64() >> 32).unwrap_or_default();
        let (seed, open) = (Seed::new(rng), ById::default());
        Connections {
            worker,
            seed,
            beaten: None,
            open,
        }
    }

    /// A request of this client address begins, unless that is too much.
    pub fn enter(
        &mut self,
        limit: &ConnectionLimit,
        address: &[u8],
        now: Timestamp,
        shared: &impl Shared,
    ) -> Result<Entry, Unavailable> {
        if client::is_among(&limit.exempt, address) {
            return Ok(Entry::Exempt);
        }
        let client = self.client(limit, address, shared)?;
        if self.open.is_empty() || self.is_beat_due(now) {
            self.beat(now, shared)?;
        }
        let (worker, mine) = (self.worker, self.in_process(client));
        let mut entered = false;
        change(&slot_of(client), shared, |bytes| {
            let mut slot = Slot::read(bytes);
            if slot.is_anybody_elses(worker) {
                let workers = Workers::read(
                    &shared
                        .read(&workers_key())?
                        .map(|it| it.0)
                        .unwrap_or_default(),
                );
                slot.retain(|other| other == worker || workers.lives(other, now));
            }
            entered = slot.set(client.0, worker, mine)
                && slot.total(client.0) < limit.most
                && slot.set(client.0, worker, mine.saturating_add(1));
            Ok(entered.then(|| slot.write()))
        })
        .map(|is_settled| {
            if !(entered && is_settled) {
                return Entry::Refused;
            }
            self.open.insert(client.0, mine.saturating_add(1));
            Entry::Counted(client)
        })
    }

    /// A request that was counted is over.
    pub fn leave(&mut self, client: Client, shared: &impl Shared) {
        let left = self.in_process(client).saturating_sub(1);
        if left == 0 {
            self.open.remove(&client.0);
        } else {
            self.open.insert(client.0, left);
        }
        let worker = self.worker;
        // Where that fails, the next request of the client or the end of the worker mends it.
        let _ = change(&slot_of(client), shared, |bytes| {
            let mut slot = Slot::read(bytes);
            slot.set(client.0, worker, left);
            Ok(Some(slot.write()))
        });
    }

    /// Says that this worker lives, when it has something in process and has not said so for a while.
    pub fn tick(&mut self, now: impl FnOnce() -> Timestamp, shared: &impl Shared) {
        if self.open.is_empty() {
            return;
        }
        let now = now();
        if self.is_beat_due(now) {
            // The next tick tries again.
            let _ = self.beat(now, shared);
        }
    }

    fn in_process(&self, client: Client) -> u32 {
        self.open.get(&client.0).copied().unwrap_or_default()
    }

    /// A clock that was set back counts as a long time.
    fn is_beat_due(&self, now: Timestamp) -> bool {
        self.beaten
            .is_none_or(|beaten| now < beaten || now.since(beaten) >= BEAT)
    }

    fn beat(&mut self, now: Timestamp, shared: &impl Shared) -> Result<(), Unavailable> {
        let worker = self.worker;
        let is_settled = change(&workers_key(), shared, |bytes| {
            let mut workers = Workers::read(bytes);
            workers.beat(worker, now);
            Ok(Some(workers.write()))
        })?;
        if is_settled {
            self.beaten = Some(now);
        }
        Ok(())
    }

    /// Addresses are hashed with a random secret. SipHash keeps that a secret.
    fn client(
        &mut self,
        limit: &ConnectionLimit,
        address: &[u8],
        shared: &impl Shared,
    ) -> Result<Client, Unavailable> {
        let seed = self.seed.read(SEED, shared)?;
        let mut hasher = DefaultHasher::new();
        (seed, &limit.zone, address).hash(&mut hasher);
        Ok(Client(hasher.finish()))
    }
}

fn slot_of(client: Client) -> String {
    format!("{PREFIX}.{}", client.0 % SLOTS)
}

fn workers_key() -> String {
    format!("{PREFIX}.workers")
}
