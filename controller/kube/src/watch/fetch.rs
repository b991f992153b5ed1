//! Reads objects by name, not too many at once, and tries again when it must.

use std::sync::Arc;
use std::time::Duration;

use kube::{Api, Client};
use sluice_tasks::Tasks;
use tokio::sync::{Semaphore, mpsc};

use super::backoff::TIMEOUT;
use super::named::described;
use super::raw::{Whole, resource};
use super::references::Name;
use super::scopes::ScopeEvent;

/// Reads at the same time. The API server's priority and fairness would queue more.
const AT_ONCE: usize = 16;
/// Before the next attempt.
const AGAIN: Duration = Duration::from_secs(5);

/// How a read ended.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) name: Name,
    pub(super) answer: Result<Option<Whole>, String>,
}

/// Starts reads.
#[derive(Clone)]
pub(super) struct Fetcher {
    client: Client,
    sender: mpsc::Sender<ScopeEvent>,
    places: Arc<Semaphore>,
    tasks: Tasks,
}

impl Fetcher {
    pub(super) fn new(client: Client, sender: mpsc::Sender<ScopeEvent>, tasks: Tasks) -> Self {
        Fetcher {
            client,
            sender,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tasks,
        }
    }

    /// Reads it now.
    pub(super) fn read(&self, name: Name) {
        self.start(name, Duration::ZERO);
    }

    /// Reads it again after a failure.
    pub(super) fn read_later(&self, name: Name) {
        self.start(name, AGAIN);
    }

    fn start(&self, name: Name, wait: Duration) {
        self.tasks.spawn_finite(
            format!("read of {}", described(&name)),
            self.clone().fetch(name, wait),
        );
    }

    async fn fetch(self, name: Name, wait: Duration) {
        tokio::time::sleep(wait).await;
        // The semaphore is never closed; if it were, reading without a place would do no harm.
        let _place = self.places.acquire().await;
        let (kind, key) = &name;
        let api: Api<Whole> = Api::namespaced_with(self.client, &key.namespace, &resource(*kind));
        let answer = match tokio::time::timeout(TIMEOUT, api.get_opt(&key.name)).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer in {TIMEOUT:?}")),
        };
        self.sender
            .send(ScopeEvent::Fetched(Fetched { name, answer }))
            .await
            .ok();
    }
}
