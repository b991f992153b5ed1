//! What there is to serve.

use std::collections::{BTreeMap, BTreeSet};

use super::history::History;
use super::version::Version;
use crate::update::{Change, Update};
use crate::{Name, ResourceType};

/// Counts what was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(u64);

impl Generation {
    pub(super) fn next(self) -> Self {
        Generation(self.0 + 1)
    }

    pub(super) fn previous(self) -> Self {
        Generation(self.0.saturating_sub(1))
    }
}

/// One resource as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) version: Version,
    pub(super) bytes: Vec<u8>,
}

/// All resources at one generation.
#[derive(Debug, Default)]
pub(super) struct Contents {
    resources: BTreeMap<ResourceType, BTreeMap<Name, Stored>>,
    complete: BTreeSet<ResourceType>,
    history: History,
    generation: Generation,
}

impl Contents {
    /// Applies an update. What it sets to what it is already is no change, and without a change the generation stays.
    pub(super) fn apply(&mut self, update: Update) -> Generation {
        let mut news = update.complete.iter().any(|kind| !self.complete.contains(kind));
        self.complete.extend(update.complete);
        let mut changed = Vec::new();
        for ((kind, name), change) in update.changes {
            if self.change(kind, &name, change) {
                changed.push((kind, name));
            }
        }
        news |= !changed.is_empty();
        if news {
            self.generation = self.generation.next();
            self.history.push(self.generation, changed);
        }
        self.generation
    }

    fn change(&mut self, kind: ResourceType, name: &Name, change: Change) -> bool {
        let resources = self.resources.entry(kind).or_default();
        match change {
            Change::Keep => false,
            Change::Remove => resources.remove(name).is_some(),
            Change::Set(bytes) if resources.get(name).is_some_and(|old| old.bytes == bytes) => false,
            Change::Set(bytes) => {
                resources.insert(name.clone(), Stored { version: Version::of(&bytes), bytes });
                true
            }
        }
    }

    pub(super) fn generation(&self) -> Generation {
        self.generation
    }

    /// Whether what is not here does not exist. Otherwise nobody has said so yet.
    pub(super) fn is_complete(&self, kind: ResourceType) -> bool {
        self.complete.contains(&kind)
    }

    pub(super) fn find(&self, kind: ResourceType, name: &str) -> Option<&Stored> {
        self.resources.get(&kind)?.get(name)
    }

    pub(super) fn names(&self, kind: ResourceType) -> impl Iterator<Item = &Name> {
        self.resources.get(&kind).into_iter().flat_map(BTreeMap::keys)
    }

    /// What changed after a generation; `None` when that is no longer known.
    pub(super) fn since(&self, cursor: Generation) -> Option<impl Iterator<Item = &(ResourceType, Name)>> {
        self.history.since(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, bytes: &[u8]) -> Update {
        let mut update = Update::default();
        update.set(ResourceType::Cluster, name, bytes.to_vec());
        update
    }

    #[test]
    fn unchanged_bytes_are_no_news() {
        let mut contents = Contents::default();
        let first = contents.apply(setting("a", b"1"));
        assert_eq!(contents.apply(setting("a", b"1")), first);
        let second = contents.apply(setting("a", b"2"));
        assert!(second > first);
        assert_eq!(contents.since(first).map(Iterator::count), Some(1));
    }

    #[test]
    fn removing_what_is_not_there_is_no_news() {
        let mut contents = Contents::default();
        let mut update = Update::default();
        update.remove(ResourceType::Cluster, "a");
        assert_eq!(contents.apply(update), Generation::default());
    }
}
