//! State that the publisher and every stream share.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sluice_xds::{Name, Probe, ResourceType, Update};
use sluice_xds_delta::{Cache, Difference, Generation, Progress, Sent, Version};
use tokio::sync::watch;

use crate::nack::{Nack, Nacks};
use crate::progress::{Client, Streams};
use crate::publications::Acknowledged;

/// How often it is looked for data planes that are lost.
const RECHECK: Duration = Duration::from_secs(1);

/// The resources, for as many clients as come. Cheap to clone: a handle.
#[derive(Clone, Debug, Default)]
pub struct Store(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    cache: RwLock<Cache>,
    news: watch::Sender<Generation>,
    /// Progress of each stream.
    streams: watch::Sender<Streams>,
    refusals: Mutex<Nacks>,
    counters: Counters,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    streams: AtomicU64,
    pub(crate) pushes: AtomicU64,
    pub(crate) acks: AtomicU64,
    pub(crate) nacks: AtomicU64,
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

/// Resources to serve, and the progress of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The latest publication.
    pub generation: u64,
    /// For each open stream, the latest publication of which its client has answered everything.
    pub answered: Vec<u64>,
    /// Clients that have said who they are.
    pub data_planes: Vec<DataPlane>,
    /// The version of every resource, by type and name, as clients report it in `version_info`.
    pub versions: BTreeMap<ResourceType, BTreeMap<Name, String>>,
}

/// One connected data plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataPlane {
    /// The id of its node.
    pub node: String,
    /// Its version, such as `1.40.0`; empty when it names none.
    pub version: String,
    /// The latest publication of which it has answered everything.
    pub answered: u64,
    /// How long the oldest publication that it has not answered has been there.
    pub behind: Duration,
    /// How long it has been connected.
    pub connected: Duration,
}

/// Tells what is refused now from what was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision(u64);

/// Answers of data planes.
#[derive(Clone, Debug)]
pub struct Decided {
    /// Of this moment.
    pub revision: Revision,
    /// NACKs; empty: all was accepted.
    pub refusals: Vec<Nack>,
}

impl Store {
    /// Empty, and silent until something was applied that is complete.
    #[must_use]
    pub fn new() -> Self {
        Store::default()
    }

    /// Publishes an update. When it changes nothing, nothing is sent. There is one publisher.
    pub fn apply(&self, update: Update) -> Generation {
        // Comparing and hashing takes a while where there is much; streams go on meanwhile.
        self.publish(self.read(|cache| cache.difference(update)))
    }

    pub(crate) fn publish(&self, difference: Difference) -> Generation {
        // Nothing in `Cache::apply` panics, so a poisoned lock guards whole cache.
        let mut cache = self.0.cache.write().unwrap_or_else(PoisonError::into_inner);
        let generation = cache.apply(difference);
        let cured = self.refused().keep_current(&cache);
        drop(cache);
        if cured {
            self.note_refusals();
        }
        self.0.streams.send_if_modified(|streams| {
            streams.note_published(generation, Instant::now());
            false
        });
        self.0
            .news
            .send_if_modified(|news| generation > std::mem::replace(news, generation.max(*news)));
        generation
    }

    /// Waits until every stream that is open has answered everything up to a generation, be it with a refusal.
    /// `false` when that took longer than `timeout`. Without streams there is nothing to wait for. Whoever has kept one
    /// wait from its end is not waited for again until it has caught up.
    pub async fn answered(&self, generation: Generation, timeout: Duration) -> bool {
        let mut streams = self.0.streams.subscribe();
        let all = streams.wait_for(|streams| streams.are_settled_in_time(generation));
        if matches!(tokio::time::timeout(timeout, all).await, Ok(Ok(_))) {
            return true;
        }
        self.0.streams.send_if_modified(|streams| {
            streams.note_late(generation, Instant::now());
            false
        });
        false
    }

    /// True if every stream that is open has answered everything up to a generation.
    #[must_use]
    pub fn is_answered(&self, generation: Generation) -> bool {
        self.0.streams.borrow().are_settled(generation)
    }

    /// Waits until some data plane is there and all have answered everything up to a generation, and what they refuse is not
    /// what it was at a revision.
    pub async fn decided(&self, generation: Generation, seen: Option<Revision>) -> Decided {
        let is_news = |streams: &Streams| {
            streams.have_decided(generation, Instant::now())
                && seen != Some(Revision(streams.revision))
        };
        let revision = self
            .once(is_news, |streams| Revision(streams.revision))
            .await;
        Decided {
            revision,
            refusals: self.refusals(),
        }
    }

    /// Waits until something is true of the streams, and reads it. Time passes without a change, too: who is lost by then no
    /// longer counts.
    async fn once<T>(&self, is_so: impl Fn(&Streams) -> bool, read: impl Fn(&Streams) -> T) -> T {
        let mut streams = self.0.streams.subscribe();
        loop {
            let waited = streams.wait_for(&is_so);
            // An error does not come: we hold the sender.
            if let Ok(Ok(streams)) = tokio::time::timeout(RECHECK, waited).await {
                return read(&streams);
            }
        }
    }

    /// Has all data planes try a candidate. `None`: not all have answered in time, or there is none.
    pub async fn probe(&self, probe: Probe, timeout: Duration) -> Option<Result<(), String>> {
        let Probe { update, kind, name } = probe;
        self.apply(update);
        let version = self.read(|cache| Some(cache.find(kind, name)?.version))?;
        let verdict = |streams: &Streams| streams.verdict(version, Instant::now());
        let answered = self.once(|streams| verdict(streams).is_some(), verdict);
        let verdict = tokio::time::timeout(timeout, answered).await.ok()??;
        let reason = || {
            self.refused()
                .message(kind, name)
                .unwrap_or("no reason given")
                .to_owned()
        };
        Some(if verdict { Ok(()) } else { Err(reason()) })
    }

    /// Resources that clients refused and have not accepted since.
    #[must_use]
    pub fn refusals(&self) -> Vec<Nack> {
        self.refused().published()
    }

    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.0.counters;
        Stats {
            streams: self.0.streams.borrow().progress.len() as u64,
            pushes: read(&counters.pushes),
            acks: read(&counters.acks),
            nacks: read(&counters.nacks),
        }
    }

    /// The latest publication, and for each open stream the latest of which its client has answered everything.
    #[must_use]
    pub fn progress(&self) -> (u64, Vec<u64>) {
        self.read(|cache| (cache.generation().number(), self.settled()))
    }

    fn settled(&self) -> Vec<u64> {
        let streams = self.0.streams.borrow();
        let all = streams.progress.values();
        all.map(|progress| progress.settled.number()).collect()
    }

    /// Published and answered generations, at one moment.
    #[must_use]
    pub fn status(&self) -> Status {
        self.read(|cache| {
            let mut versions = BTreeMap::<_, BTreeMap<_, _>>::new();
            for (kind, name, version) in cache.versions() {
                versions
                    .entry(kind)
                    .or_default()
                    .insert(name.clone(), version.to_string());
            }
            Status {
                generation: cache.generation().number(),
                answered: self.settled(),
                data_planes: data_planes(&self.0.streams.borrow()),
                versions,
            }
        })
    }

    /// The data planes that are connected.
    #[must_use]
    pub fn data_planes(&self) -> Vec<DataPlane> {
        data_planes(&self.0.streams.borrow())
    }

    /// Answers of all data planes to what was published in this time, as long as it is one of the last publications.
    #[must_use]
    pub fn acknowledged(&self, during: &RangeInclusive<Instant>) -> Acknowledged {
        self.0.streams.borrow().published.acknowledged(during)
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Cache) -> T) -> T {
        read(&self.0.cache.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_refusals(&self) {
        self.0.streams.send_modify(|streams| streams.revision += 1);
    }

    fn refused(&self) -> MutexGuard<'_, Nacks> {
        self.0
            .refusals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(crate) fn news(&self) -> watch::Receiver<Generation> {
        self.0.news.subscribe()
    }

    /// Registers a stream: from now on it is waited for.
    pub(crate) fn open(&self, settled: Generation) -> OpenStream {
        let id = self.0.counters.streams.fetch_add(1, Ordering::Relaxed);
        self.0.streams.send_modify(|streams| {
            streams.progress.insert(
                id,
                Progress {
                    settled,
                    ..Progress::default()
                },
            );
        });
        OpenStream {
            store: self.clone(),
            id,
        }
    }
}

fn data_planes(streams: &Streams) -> Vec<DataPlane> {
    let (clients, now) = (streams.clients.iter(), Instant::now());
    let all = clients.filter_map(|(id, client)| {
        let settled = streams.progress.get(id)?.settled;
        Some(DataPlane {
            node: client.node.clone(),
            version: client.version.clone(),
            answered: settled.number(),
            behind: streams.published.behind(settled, now),
            connected: now.saturating_duration_since(client.connected),
        })
    });
    all.collect()
}

/// A stream that [`Store::answered`] waits for, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    store: Store,
    id: u64,
}

impl OpenStream {
    /// The client has said who it is.
    pub(crate) fn introduce(&self, node: &str, version: &str) {
        let client = Client {
            node: node.to_owned(),
            version: version.to_owned(),
            connected: Instant::now(),
        };
        // Nobody waits for names.
        self.store.0.streams.send_if_modified(|streams| {
            streams.clients.insert(self.id, client);
            false
        });
    }

    /// True if nobody says that so far.
    pub(crate) fn add_refusal(
        &self,
        resource: (ResourceType, &Name),
        version: Version,
        node: &str,
        reason: &str,
    ) -> bool {
        let mut refusals = self.store.refused();
        let is_new = refusals.add(self.id, resource, version, node, reason);
        drop(refusals);
        if is_new {
            self.store.note_refusals();
        }
        is_new
    }

    pub(crate) fn forget_refusals(&self, kind: ResourceType, accepted: &Sent) {
        let mut refusals = self.store.refused();
        let cured = accepted.iter().fold(false, |cured, (name, _)| {
            refusals.forget(self.id, kind, name) || cured
        });
        drop(refusals);
        if cured {
            self.store.note_refusals();
        }
    }

    pub(crate) fn advance(&self, progress: Progress) {
        let streams = &self.store.0.streams;
        streams.send_if_modified(|streams| streams.advance(self.id, progress, Instant::now()));
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        // Whoever sees that the stream is gone sees that its refusals are, too.
        let cured = self.store.refused().forget_stream(self.id);
        let streams = &self.store.0.streams;
        streams.send_modify(|streams| {
            streams.close(self.id, Instant::now());
            streams.revision += u64::from(cured);
        });
    }
}
