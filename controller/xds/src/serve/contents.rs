//! Resources to serve.

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

    pub(super) fn number(self) -> u64 {
        self.0
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

/// Changes of an update, with the versions of what is new.
#[derive(Debug)]
pub(super) struct Difference {
    /// `None`: it is gone.
    set: Vec<(ResourceType, Name, Option<Stored>)>,
    complete: BTreeSet<ResourceType>,
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
    /// Difference that an update makes. Setting a resource to its present value is none.
    pub(super) fn difference(&self, update: Update) -> Difference {
        let mut set = Vec::new();
        for ((kind, name), change) in update.changes {
            let before = self.find(kind, &name);
            match change {
                Change::Set(bytes) if before.is_none_or(|before| before.bytes != bytes) => {
                    set.push((
                        kind,
                        name,
                        Some(Stored {
                            version: Version::of(&bytes),
                            bytes,
                        }),
                    ));
                }
                Change::Remove if before.is_some() => set.push((kind, name, None)),
                Change::Set(_) | Change::Remove | Change::Keep => {}
            }
        }
        Difference {
            set,
            complete: update.complete,
        }
    }

    /// Applies a difference. Without one the generation stays.
    pub(super) fn apply(&mut self, difference: Difference) -> Generation {
        let mut news = difference
            .complete
            .iter()
            .any(|kind| !self.complete.contains(kind));
        self.complete.extend(difference.complete);
        let mut changed = Vec::new();
        for (kind, name, now) in difference.set {
            let resources = self.resources.entry(kind).or_default();
            match now {
                Some(stored) => drop(resources.insert(name.clone(), stored)),
                None => drop(resources.remove(&name)),
            }
            changed.push((kind, name));
        }
        news |= !changed.is_empty();
        if news {
            self.generation = self.generation.next();
            self.history.push(self.generation, changed);
        }
        self.generation
    }

    pub(super) fn generation(&self) -> Generation {
        self.generation
    }

    /// True if the contents of a type are complete; otherwise a missing resource may still come.
    pub(super) fn is_complete(&self, kind: ResourceType) -> bool {
        self.complete.contains(&kind)
    }

    pub(super) fn find(&self, kind: ResourceType, name: &str) -> Option<&Stored> {
        self.resources.get(&kind)?.get(name)
    }

    pub(super) fn names(&self, kind: ResourceType) -> impl Iterator<Item = &Name> {
        self.resources
            .get(&kind)
            .into_iter()
            .flat_map(BTreeMap::keys)
    }

    /// The version of every resource.
    pub(super) fn versions(&self) -> impl Iterator<Item = (ResourceType, &Name, Version)> {
        self.resources.iter().flat_map(|(kind, resources)| {
            resources
                .iter()
                .map(|(name, stored)| (*kind, name, stored.version))
        })
    }

    /// Changes after a generation; `None` when they are no longer known.
    pub(super) fn since(
        &self,
        cursor: Generation,
    ) -> Option<impl Iterator<Item = &(ResourceType, Name)>> {
        self.history.since(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(contents: &mut Contents, update: Update) -> Generation {
        let difference = contents.difference(update);
        contents.apply(difference)
    }

    fn setting(name: &str, bytes: &[u8]) -> Update {
        let mut update = Update::default();
        update.set(ResourceType::Cluster, name, bytes.to_vec());
        update
    }

    #[test]
    fn unchanged_bytes_are_no_news() {
        let mut contents = Contents::default();
        let first = apply(&mut contents, setting("a", b"1"));
        assert_eq!(apply(&mut contents, setting("a", b"1")), first);
        let second = apply(&mut contents, setting("a", b"2"));
        assert!(second > first);
        assert_eq!(contents.since(first).map(Iterator::count), Some(1));
    }

    #[test]
    fn removing_what_is_not_there_is_no_news() {
        let mut contents = Contents::default();
        let mut update = Update::default();
        update.remove(ResourceType::Cluster, "a");
        assert_eq!(apply(&mut contents, update), Generation::default());
    }
}
