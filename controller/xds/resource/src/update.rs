//! An update of resources: what is set, and what is removed.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;

use crate::{Name, ResourceType};

/// A step of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Changes by type and name.
    pub changes: BTreeMap<(ResourceType, Name), Change>,
    /// Types of which the store has everything once this is applied. A resource that is missing then does not exist; before,
    /// clients are told nothing about its type: a controller that has just started must not remove what an Envoy has.
    pub complete: BTreeSet<ResourceType>,
}

/// Change of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets it to an encoded message.
    Set(Vec<u8>),
    /// Sets the filter to encoded messages, of which each client takes the one of its form.
    SetFilter {
        /// For [`FilterForm::Wasm`](crate::FilterForm::Wasm).
        wasm: Vec<u8>,
        /// For [`FilterForm::Module`](crate::FilterForm::Module).
        module: Vec<u8>,
    },
    /// Removes it.
    Remove,
    /// As it is; takes back a removal that it is merged over.
    Keep,
}

impl Update {
    /// True if it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.complete.is_empty()
    }

    /// Sets one resource to an encoded message, whatever it is.
    pub fn set(&mut self, kind: ResourceType, name: &str, bytes: Vec<u8>) {
        self.change(kind, name, Change::Set(bytes));
    }

    /// Removes one resource.
    pub fn remove(&mut self, kind: ResourceType, name: &str) {
        self.change(kind, name, Change::Remove);
    }

    /// Drops the change of one resource: another update has it.
    pub fn forget(&mut self, kind: ResourceType, name: &str) {
        self.changes.remove(&(kind, name.into()));
    }

    /// Adds a later update; where both say something, the later one holds.
    pub fn merge(&mut self, later: Update) {
        self.changes.extend(later.changes);
        self.complete.extend(later.complete);
    }

    /// For tests of what is refused: a cluster or a listener that has this text has one that is none in its place.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn spoiled(mut self, text: &str) -> Self {
        let kinds = [ResourceType::Cluster, ResourceType::Listener];
        for ((_, _), change) in self
            .changes
            .iter_mut()
            .filter(|((kind, _), _)| kinds.contains(kind))
        {
            let Change::Set(bytes) = change else { continue };
            let is_text = |at: usize| bytes.get(at..at + text.len()) == Some(text.as_bytes());
            if let Some(at) = (0..bytes.len()).find(|at| is_text(*at))
                && let Some(byte) = bytes.get_mut(at)
            {
                // In no text there is such a byte.
                *byte = 0xff;
            }
        }
        self
    }

    /// Once an update that is complete for a type was applied, what the store does not have does not exist. Before,
    /// nobody is told anything about that type: a controller that has just started must not take an Envoy's
    /// configuration away.
    pub fn complete_for(types: impl IntoIterator<Item = ResourceType>) -> Self {
        Update {
            complete: types.into_iter().collect(),
            ..Update::default()
        }
    }

    /// Sets one resource to a message.
    pub fn put(&mut self, kind: ResourceType, name: &str, message: &impl Message) {
        self.set(kind, name, message.encode_to_vec());
    }

    /// Sets the change of one resource.
    pub fn change(&mut self, kind: ResourceType, name: &str, change: Change) {
        self.changes.insert((kind, name.into()), change);
    }
}
