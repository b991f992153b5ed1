//! Turns of the endpoints that are checked, and when each is next. Time and randomness are arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_fair::{Limits, Turns};
use sluice_ir::BackendId;
use sluice_translate::EndpointHealth;

use crate::counter::Counter;
use crate::probe::Target;
use crate::targets::Targets;

/// Endpoints of one namespace that are checked.
const MOST: usize = 1000;
/// Checks at a time; of one namespace a quarter of them.
const TURNS: usize = 256;
/// An endpoint that is new is checked within this time.
const FIRST: Duration = Duration::from_secs(1);

/// The health of a backend's endpoints, when it is another one.
pub(crate) type Update = (BackendId, EndpointHealth);

/// The endpoints that are checked.
#[derive(Debug)]
pub(crate) struct Plan {
    backends: BTreeMap<BackendId, Followed>,
    due: BTreeSet<(Instant, BackendId, SocketAddr)>,
    turns: Turns<Waiting>,
    /// Endpoints that are checked, by namespace.
    checked: BTreeMap<String, usize>,
    /// Backends of which not all endpoints are, by namespace.
    crowded: BTreeMap<String, BTreeSet<BackendId>>,
    serials: u64,
}

#[derive(Debug)]
struct Followed {
    targets: Arc<Targets>,
    endpoints: BTreeMap<SocketAddr, Endpoint>,
}

/// An endpoint between two checks.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    counter: Counter,
    /// When it is checked next; `None`: it waits for its turn, or is being checked.
    due: Option<Instant>,
    /// Results of earlier checks, of which it knows nothing, have another one.
    serial: u64,
}

#[derive(Debug)]
struct Waiting {
    backend: BackendId,
    endpoint: SocketAddr,
    serial: u64,
}

/// A check that has begun.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) target: Target,
    namespace: String,
    serial: u64,
}

impl Default for Plan {
    fn default() -> Self {
        let limits = Limits {
            workers: TURNS,
            workers_of_one: TURNS / 4,
            // Each endpoint waits at most once.
            waiting: usize::MAX,
            waiting_of_one: usize::MAX,
        };
        Plan {
            backends: BTreeMap::new(),
            due: BTreeSet::new(),
            turns: Turns::new(limits),
            checked: BTreeMap::new(),
            crowded: BTreeMap::new(),
            serials: 0,
        }
    }
}

impl Followed {
    fn health(&self) -> EndpointHealth {
        let unhealthy = self
            .endpoints
            .iter()
            .filter(|(_, endpoint)| endpoint.counter.is_unhealthy());
        EndpointHealth {
            unhealthy: unhealthy.map(|(address, _)| *address).collect(),
            unchecked: self.targets.endpoints.len() - self.endpoints.len(),
        }
    }
}

impl Plan {
    /// Checks these endpoints of a backend, and no others. `jitter` gives a random part of a time.
    pub(crate) fn follow(
        &mut self,
        id: &BackendId,
        targets: Option<Targets>,
        now: Instant,
        jitter: impl Fn(Duration) -> Duration,
    ) -> Vec<Update> {
        let namespace = targets.as_ref().map(|targets| targets.namespace.clone());
        let before = self.remove(id);
        let namespace = namespace.or_else(|| Some(before.as_ref()?.targets.namespace.clone()));
        let mut updates = Vec::new();
        match targets {
            Some(targets) => updates.extend(self.set(id, Arc::new(targets), before, now, &jitter)),
            None => drop(before),
        }
        // There may be room now for endpoints of others. One that is still crowded has taken the last of it.
        while let Some(other) = namespace.as_deref().and_then(|it| self.with_room(it))
            && let Some(before) = self.remove(&other)
        {
            let targets = Arc::clone(&before.targets);
            updates.extend(self.set(&other, targets, Some(before), now, &jitter));
        }
        updates
    }

    /// The next backend of a namespace for whose endpoints there is room now.
    fn with_room(&self, namespace: &str) -> Option<BackendId> {
        let checked = self.checked.get(namespace).copied().unwrap_or_default();
        let crowded = self.crowded.get(namespace).filter(|_| checked < MOST)?;
        crowded.first().cloned()
    }

    /// When something is to be done next.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, ..)| *at)
    }

    /// The checks that begin now.
    pub(crate) fn begin(&mut self, now: Instant) -> Vec<Turn> {
        while self.next_due().is_some_and(|at| at <= now) {
            self.wait_for_turn();
        }
        let mut begun = Vec::new();
        while let Some((namespace, waiting)) = self.turns.begin() {
            let known = self.backends.get(&waiting.backend).filter(|followed| {
                let endpoint = followed.endpoints.get(&waiting.endpoint);
                endpoint.is_some_and(|endpoint| endpoint.serial == waiting.serial)
            });
            let Some(followed) = known else {
                self.turns.done(&namespace);
                continue;
            };
            begun.push(Turn {
                target: Target {
                    backend: waiting.backend,
                    endpoint: waiting.endpoint,
                    targets: Arc::clone(&followed.targets),
                },
                namespace,
                serial: waiting.serial,
            });
        }
        begun
    }

    /// Takes the result of a check.
    pub(crate) fn finish(
        &mut self,
        turn: &Turn,
        passed: bool,
        now: Instant,
        jitter: impl Fn(Duration) -> Duration,
    ) -> Option<Update> {
        self.turns.done(&turn.namespace);
        let Target {
            backend, endpoint, ..
        } = &turn.target;
        let followed = self.backends.get_mut(backend)?;
        let known = followed.endpoints.get_mut(endpoint);
        let known = known.filter(|known| known.serial == turn.serial)?;
        let check = &followed.targets.check;
        let interval = Duration::from_millis(check.interval.get().into());
        // A tenth earlier or later.
        let at = now + interval.mul_f64(0.9) + jitter(interval / 5);
        known.due = Some(at);
        let has_changed = known.counter.take(passed, check);
        self.due.insert((at, backend.clone(), *endpoint));
        has_changed.then(|| (backend.clone(), followed.health()))
    }

    fn wait_for_turn(&mut self) {
        let Some((_, backend, endpoint)) = self.due.pop_first() else {
            return;
        };
        let Some(followed) = self.backends.get_mut(&backend) else {
            return;
        };
        let Some(known) = followed.endpoints.get_mut(&endpoint) else {
            return;
        };
        known.due = None;
        let waiting = Waiting {
            backend,
            endpoint,
            serial: known.serial,
        };
        // There is room for all.
        self.turns.add(&followed.targets.namespace, 1, waiting).ok();
    }

    fn set(
        &mut self,
        id: &BackendId,
        targets: Arc<Targets>,
        before: Option<Followed>,
        now: Instant,
        jitter: &impl Fn(Duration) -> Duration,
    ) -> Option<Update> {
        let was = before.as_ref().map(Followed::health).unwrap_or_default();
        let same = before
            .as_ref()
            .is_some_and(|before| before.targets.asks_as(&targets));
        let mut known = before.map(|before| before.endpoints).unwrap_or_default();
        let taken = self.checked.entry(targets.namespace.clone()).or_default();
        let room = MOST.saturating_sub(*taken);
        let mut endpoints = BTreeMap::new();
        for address in targets.endpoints.iter().take(room) {
            let known = known.remove(address);
            let endpoint = known.filter(|_| same).unwrap_or_else(|| {
                self.serials += 1;
                let within = FIRST.min(Duration::from_millis(targets.check.interval.get().into()));
                Endpoint {
                    counter: known
                        .map(|known| known.counter.afresh())
                        .unwrap_or_default(),
                    due: Some(now + jitter(within)),
                    serial: self.serials,
                }
            });
            if let Some(at) = endpoint.due {
                self.due.insert((at, id.clone(), *address));
            }
            endpoints.insert(*address, endpoint);
        }
        *taken += endpoints.len();
        let followed = Followed { targets, endpoints };
        let health = followed.health();
        if health.unchecked > 0 {
            let namespace = followed.targets.namespace.clone();
            self.crowded
                .entry(namespace)
                .or_default()
                .insert(id.clone());
        }
        self.backends.insert(id.clone(), followed);
        (health != was).then(|| (id.clone(), health))
    }

    /// Takes a backend out, with all that is kept because of it.
    fn remove(&mut self, id: &BackendId) -> Option<Followed> {
        let followed = self.backends.remove(id)?;
        for (address, endpoint) in &followed.endpoints {
            if let Some(at) = endpoint.due {
                self.due.remove(&(at, id.clone(), *address));
            }
        }
        let namespace = &followed.targets.namespace;
        if let Some(taken) = self.checked.get_mut(namespace) {
            *taken -= followed.endpoints.len();
            if *taken == 0 {
                self.checked.remove(namespace);
            }
        }
        if let Some(crowded) = self.crowded.get_mut(namespace) {
            crowded.remove(id);
            if crowded.is_empty() {
                self.crowded.remove(namespace);
            }
        }
        Some(followed)
    }
}

#[cfg(test)]
mod tests;
