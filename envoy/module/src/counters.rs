//! Counts of clients' requests, which all workers of the process share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex};

use sluice_filter_core::connections::{Client, ConnectionLimit, Entry};
use sluice_filter_core::rates::RateLimit;
use sluice_filter_core::shared::{Exchange, Shared, Unavailable};
use sluice_filter_core::{SplitMix64, Timestamp};
use sluice_filter_worker::{Counters, SharedCounters};

use crate::lock::lock;

/// One for the process, so nobody counts beside it, and no count can lapse.
static COUNTERS: LazyLock<Mutex<SharedCounters<Memory>>> = LazyLock::new(|| {
    let mut rng = SplitMix64(RandomState::new().hash_one(0));
    Mutex::new(SharedCounters::new(Memory::default(), &mut rng))
});

/// The counters of the process, as a worker uses them.
#[derive(Debug)]
pub(crate) struct ProcessCounters;

impl Counters for ProcessCounters {
    fn admit(
        &mut self,
        limit: &RateLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        lock(&COUNTERS).admit(limit, address, now)
    }

    fn enter(
        &mut self,
        limit: &ConnectionLimit,
        address: &[u8],
        now: Timestamp,
    ) -> Result<Entry, Unavailable> {
        lock(&COUNTERS).enter(limit, address, now)
    }

    fn leave(&mut self, client: Client) {
        lock(&COUNTERS).leave(client);
    }

    fn take_failure_notice(&mut self) -> bool {
        lock(&COUNTERS).take_failure_notice()
    }
}

/// Values by key, as VMs of wasm share them. Keys are as many as the counters have slots.
#[derive(Debug, Default)]
struct Memory(RefCell<HashMap<String, (Vec<u8>, u32)>>);

impl Shared for Memory {
    fn read(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, Unavailable> {
        Ok(self.0.borrow().get(key).cloned())
    }

    fn exchange(
        &self,
        key: &str,
        value: &[u8],
        version: Option<u32>,
    ) -> Result<Exchange, Unavailable> {
        let mut values = self.0.borrow_mut();
        let current = values.get(key).map(|(_, version)| *version);
        if current != version {
            return Ok(Exchange::Lost);
        }
        let next = version.map_or(0, |version| version.wrapping_add(1));
        values.insert(key.to_owned(), (value.to_vec(), next));
        Ok(Exchange::Done)
    }
}
