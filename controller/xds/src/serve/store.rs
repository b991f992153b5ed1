//! What the publisher and every stream share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use super::contents::{Contents, Generation};
use super::refusal::{Refusal, Refusals};
use crate::Update;

/// The resources, for as many clients as come. Cheap to clone: a handle.
#[derive(Clone, Debug, Default)]
pub struct Store(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    contents: RwLock<Contents>,
    news: watch::Sender<Generation>,
    /// How far each stream is.
    streams: watch::Sender<BTreeMap<u64, Generation>>,
    refusals: Mutex<Refusals>,
    counters: Counters,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    streams: AtomicU64,
    pub(super) pushes: AtomicU64,
    pub(super) acks: AtomicU64,
    pub(super) nacks: AtomicU64,
}

/// Counters since the start, and the streams of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Streams that are open.
    pub streams: u64,
    /// Responses sent.
    pub pushes: u64,
    /// Responses accepted.
    pub acks: u64,
    /// Responses refused.
    pub nacks: u64,
}

impl Store {
    /// Empty, and silent until something was applied that is complete.
    #[must_use]
    pub fn new() -> Self {
        Store::default()
    }

    /// Publishes an update. When it changes nothing, nobody hears of it.
    pub fn apply(&self, update: Update) -> Generation {
        // Nothing in `Contents::apply` panics, so a poisoned lock guards whole contents.
        let mut contents = self.0.contents.write().unwrap_or_else(PoisonError::into_inner);
        let generation = contents.apply(update);
        self.refused().keep_current(&contents);
        drop(contents);
        self.0.news.send_if_modified(|news| generation > std::mem::replace(news, generation.max(*news)));
        generation
    }

    /// Waits until every stream that is open has answered everything up to a generation, be it with a refusal.
    /// `false` when that took longer than `timeout`. Without streams there is nothing to wait for.
    pub async fn acked(&self, generation: Generation, timeout: Duration) -> bool {
        let mut streams = self.0.streams.subscribe();
        let all = streams.wait_for(|streams| streams.values().all(|settled| *settled >= generation));
        matches!(tokio::time::timeout(timeout, all).await, Ok(Ok(_)))
    }

    /// What clients refused and have not accepted since.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.refused().all()
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.0.counters;
        Stats {
            streams: self.0.streams.borrow().len() as u64,
            pushes: read(&counters.pushes),
            acks: read(&counters.acks),
            nacks: read(&counters.nacks),
        }
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Contents) -> T) -> T {
        read(&self.0.contents.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn refused(&self) -> MutexGuard<'_, Refusals> {
        self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(super) fn news(&self) -> watch::Receiver<Generation> {
        self.0.news.subscribe()
    }

    /// Registers a stream: from now on it is waited for.
    pub(super) fn open(&self, settled: Generation) -> OpenStream {
        let id = self.0.counters.streams.fetch_add(1, Ordering::Relaxed);
        self.0.streams.send_modify(|streams| {
            streams.insert(id, settled);
        });
        OpenStream { store: self.clone(), id }
    }
}

/// A stream that [`Store::acked`] waits for, until it is dropped.
#[derive(Debug)]
pub(super) struct OpenStream {
    store: Store,
    id: u64,
}

impl OpenStream {
    pub(super) fn settle(&self, settled: Generation) {
        self.store.0.streams.send_if_modified(|streams| streams.insert(self.id, settled) != Some(settled));
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.store.0.streams.send_modify(|streams| {
            streams.remove(&self.id);
        });
    }
}
