//! Current objects and configuration, for readers: metrics, the admin interface, admission, authorization.
//!
//! The publisher is the only writer. Readers of the configuration take an `Arc` and never wait for a translation; readers of
//! objects wait while a batch of them is applied, but not while they are translated.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sluice_authz::Backends;
use sluice_ir::{Backend, BackendId};
use sluice_translate::{Resources, Snapshot};
use tokio::sync::watch;

use crate::progress::Progress;

/// A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct View(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    resources: RwLock<Resources>,
    snapshot: watch::Sender<Arc<Snapshot>>,
    progress: Progress,
}

// A poisoned lock guards whole values: objects are replaced one by one, each in one step.
impl View {
    /// The objects.
    pub fn resources(&self) -> RwLockReadGuard<'_, Resources> {
        self.0
            .resources
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The current translation.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.snapshot.borrow())
    }

    /// The current translation and those to come.
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.0.snapshot.subscribe()
    }

    /// How the publisher gets on.
    pub fn progress(&self) -> &Progress {
        &self.0.progress
    }

    /// The objects, to apply changes.
    pub fn resources_mut(&self) -> RwLockWriteGuard<'_, Resources> {
        self.0
            .resources
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the translation that readers see.
    pub fn show(&self, snapshot: Arc<Snapshot>) {
        self.0.snapshot.send_replace(snapshot);
    }
}

impl Backends for View {
    fn backend(&self, id: &BackendId) -> Option<Arc<Backend>> {
        self.snapshot().config().backends.get(id).cloned()
    }
}
