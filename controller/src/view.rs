//! What is known and served right now, for those who only look: metrics, the admin interface, admission.
//!
//! The publisher is the only writer. Everything else reads for as long as it takes to answer one question.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sluice_translate::{Resources, Translation};

use crate::progress::Progress;

/// A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct View(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    resources: RwLock<Resources>,
    translation: RwLock<Translation>,
    progress: Progress,
}

// A poisoned lock guards whole values: objects and translations are replaced one by one, each in one step.
impl View {
    /// The objects.
    pub(crate) fn resources(&self) -> RwLockReadGuard<'_, Resources> {
        self.0.resources.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What they came to.
    pub(crate) fn translation(&self) -> RwLockReadGuard<'_, Translation> {
        self.0.translation.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the publisher gets on.
    pub(crate) fn progress(&self) -> &Progress {
        &self.0.progress
    }

    pub(crate) fn resources_mut(&self) -> RwLockWriteGuard<'_, Resources> {
        self.0.resources.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn translation_mut(&self) -> RwLockWriteGuard<'_, Translation> {
        self.0.translation.write().unwrap_or_else(PoisonError::into_inner)
    }
}
