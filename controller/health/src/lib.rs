//! Active health checks: the endpoints of backends that ask for it are sent requests, and what they answer is an input of the
//! translation, as answers of DNS are.
//!
//! ```text
//!   Publisher --follow--> Checks --Plan: whose turn it is--> probe --AddressPolicy--> endpoint
//!       ^                              |
//!       +------- EndpointHealth -------+     only when it is another one
//! ```
//!
//! The controller checks, and no data plane does: Envoy's own checks would not be seen by the filter, and nginx has none. Each
//! replica of the controller checks for the data planes that it serves, from its own place in the network: replicas that shared
//! results would have to trust one of them, and would know nothing when it is gone.
//!
//! Checks of one namespace do not keep those of another waiting: turns are fair, and there are only so many endpoints of each.

mod change_log;
mod counter;
mod plan;
mod probe;
mod targets;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use sluice_ir::{Backend, BackendId};
use sluice_translate::{AddressPolicy, EndpointHealth};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use change_log::ChangeLog;
use plan::{Plan, Update};
use targets::Targets;

/// Handle of the publisher.
#[derive(Debug)]
pub struct Checks {
    commands: UnboundedSender<Command>,
    results: UnboundedReceiver<(BackendId, EndpointHealth)>,
    /// Backends that are checked now.
    followed: HashMap<BackendId, Targets>,
    policy: Arc<AddressPolicy>,
}

#[derive(Debug)]
enum Command {
    /// `None`: it is checked no more.
    Follow(BackendId, Option<Targets>),
    Policy(Arc<AddressPolicy>),
}

/// Task that checks endpoints.
pub struct Prober {
    commands: UnboundedReceiver<Command>,
    results: UnboundedSender<(BackendId, EndpointHealth)>,
    plan: Plan,
    log: ChangeLog,
    policy: Arc<AddressPolicy>,
}

impl Checks {
    /// Both ends.
    #[must_use]
    pub fn new() -> (Checks, Prober) {
        let (commands, heard) = mpsc::unbounded_channel();
        let (results, told) = mpsc::unbounded_channel();
        let prober = Prober {
            commands: heard,
            results,
            plan: Plan::default(),
            log: ChangeLog::default(),
            policy: Arc::default(),
        };
        let checks = Checks {
            commands,
            results: told,
            followed: HashMap::new(),
            policy: Arc::default(),
        };
        (checks, prober)
    }

    /// Checks the endpoints of a backend as it is now; `None`: it is gone. `true`: they were checked, and are no more.
    pub fn follow(&mut self, id: &BackendId, backend: Option<&Backend>) -> bool {
        let targets = backend.and_then(|backend| Targets::new(id, backend));
        if self.followed.get(id) == targets.as_ref() {
            return false;
        }
        let has_ended = targets.is_none();
        match &targets {
            Some(targets) => drop(self.followed.insert(id.clone(), targets.clone())),
            None => drop(self.followed.remove(id)),
        }
        self.send(Command::Follow(id.clone(), targets));
        has_ended
    }

    /// True if the endpoints of a backend are checked.
    #[must_use]
    pub fn is_followed(&self, id: &BackendId) -> bool {
        self.followed.contains_key(id)
    }

    /// Addresses that may be dialled from now on.
    pub fn set_address_policy(&mut self, policy: &Arc<AddressPolicy>) {
        if !Arc::ptr_eq(&self.policy, policy) {
            self.policy = Arc::clone(policy);
            self.send(Command::Policy(Arc::clone(policy)));
        }
    }

    /// The next change. Waits for ever when nothing is checked.
    pub async fn next(&mut self) -> (BackendId, EndpointHealth) {
        match self.results.recv().await {
            Some(result) => result,
            None => std::future::pending().await,
        }
    }

    /// A change that is there already.
    pub fn try_next(&mut self) -> Option<(BackendId, EndpointHealth)> {
        self.results.try_recv().ok()
    }

    fn send(&self, command: Command) {
        // The other end is gone only when the program ends.
        self.commands.send(command).ok();
    }
}

impl Prober {
    /// Runs until the handle is dropped.
    pub async fn run(mut self) {
        let mut running = FuturesUnordered::new();
        loop {
            for turn in self.plan.begin(Instant::now()) {
                let policy = Arc::clone(&self.policy);
                running.push(async move {
                    let result = probe::send(&turn.target, &policy).await;
                    (turn, result)
                });
            }
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => self.take(command),
                    None => return,
                },
                Some((turn, result)) = running.next() => {
                    let update = self.plan.finish(&turn, result.is_ok(), Instant::now(), jitter);
                    if let Some(update) = update {
                        self.log.record(&turn.target, &result);
                        self.publish(update);
                    }
                }
                () = until(self.plan.next_due()) => {}
            }
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Policy(policy) => self.policy = policy,
            Command::Follow(id, targets) => {
                let updates = self.plan.follow(&id, targets, Instant::now(), jitter);
                updates.into_iter().for_each(|update| self.publish(update));
            }
        }
    }

    fn publish(&self, (id, health): Update) {
        // The publisher is gone only when the program ends.
        self.results.send((id, health)).ok();
    }
}

/// A random part of a time, so that checks do not all come together.
fn jitter(most: Duration) -> Duration {
    let part = RandomState::new().hash_one(()) >> 32;
    most.mul_f64(part as f64 / f64::from(u32::MAX))
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
