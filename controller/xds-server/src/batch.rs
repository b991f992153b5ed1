//! Updates that are published at once. Each is packed when it is added: all of them as they are take several times the memory.

use sluice_xds::Update;
use sluice_xds_delta::{Cache, Difference, Generation};

use crate::store::Store;

/// Updates, in their order.
#[derive(Debug)]
pub struct Batch<'s> {
    store: &'s Store,
    difference: Difference,
}

impl<'s> Batch<'s> {
    /// Without any.
    #[must_use]
    pub fn new(store: &'s Store) -> Self {
        Batch {
            store,
            difference: store.read(Cache::no_difference),
        }
    }

    /// Adds one; where several say something of a resource, the last one holds.
    pub fn add(&mut self, update: Update) {
        self.store
            .read(|cache| cache.add_to(&mut self.difference, update));
    }

    /// Publishes them. When they change nothing, nothing is sent.
    pub fn publish(self) -> Generation {
        self.store.publish(self.difference)
    }
}
