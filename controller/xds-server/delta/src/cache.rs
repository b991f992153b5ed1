//! Resources to serve.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_xds_resource::{Change, FilterForm, Name, ResourceType, Update};

use crate::history::{Generation, History};
use crate::known::Catalogue;
use crate::message::{Dictionary, Message};
use crate::version::Version;

/// One resource as it is sent.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Of its bytes.
    pub version: Version,
    message: Arc<Message>,
    /// In the place of `message`, for clients that take the filter as a module.
    for_modules: Option<Arc<Message>>,
}

impl Stored {
    /// Without a dictionary it is kept as it is.
    fn new(
        bytes: Vec<u8>,
        for_modules: Option<Vec<u8>>,
        dictionary: Option<&mut Dictionary>,
    ) -> Self {
        let version = match &for_modules {
            Some(module) => Version::hash(&[bytes.as_slice(), module].concat()),
            None => Version::hash(&bytes),
        };
        let message = match dictionary {
            Some(dictionary) => dictionary.pack(bytes),
            None => Message::from(bytes),
        };
        Stored {
            version,
            message: message.into(),
            for_modules: for_modules.map(|module| Message::from(module).into()),
        }
    }

    fn is_made_of(&self, bytes: &[u8], for_modules: Option<&[u8]>) -> bool {
        let same_for_modules = match (&self.for_modules, for_modules) {
            (Some(message), Some(bytes)) => message.is(bytes),
            (None, None) => true,
            _ => false,
        };
        same_for_modules && self.message.is(bytes)
    }

    /// The message for a client that takes this form of the filter.
    pub(crate) fn message(&self, form: FilterForm) -> &Arc<Message> {
        match (form, &self.for_modules) {
            (FilterForm::Module, Some(module)) => module,
            (FilterForm::Module, None) | (FilterForm::Wasm, _) => &self.message,
        }
    }
}

/// Changes of an update, with the versions of what is new.
#[derive(Debug)]
pub struct Difference {
    /// `None`: it is gone.
    set: BTreeMap<(ResourceType, Name), Option<Stored>>,
    complete: BTreeSet<ResourceType>,
    dictionaries: BTreeMap<ResourceType, Dictionary>,
}

/// All resources at one generation.
#[derive(Debug, Default)]
pub struct Cache {
    resources: BTreeMap<ResourceType, BTreeMap<Name, Stored>>,
    catalogues: BTreeMap<ResourceType, Catalogue>,
    dictionaries: BTreeMap<ResourceType, Dictionary>,
    complete: BTreeSet<ResourceType>,
    history: History,
    generation: Generation,
}

impl Cache {
    /// Difference that an update makes.
    pub fn difference(&self, update: Update) -> Difference {
        let mut difference = self.no_difference();
        self.add_to(&mut difference, update);
        difference
    }

    /// None so far.
    pub fn no_difference(&self) -> Difference {
        Difference {
            set: BTreeMap::new(),
            complete: BTreeSet::new(),
            dictionaries: self.dictionaries.clone(),
        }
    }

    /// Adds an update, which holds over those before. Setting a resource to its present value makes no difference.
    pub fn add_to(&self, difference: &mut Difference, update: Update) {
        let Difference {
            set,
            complete,
            dictionaries,
        } = difference;
        for (key, change) in update.changes {
            let (kind, before) = (key.0, self.find(key.0, &key.1));
            let (bytes, for_modules) = match change {
                Change::Set(bytes) => (bytes, None),
                Change::SetFilter { wasm, module } => (wasm, Some(module)),
                Change::Remove if before.is_some() => {
                    set.insert(key, None);
                    continue;
                }
                Change::Remove | Change::Keep => {
                    set.remove(&key);
                    continue;
                }
            };
            if before.is_some_and(|it| it.is_made_of(&bytes, for_modules.as_deref())) {
                set.remove(&key);
                continue;
            }
            // Keys do not shrink, and a dictionary would keep one for longer than it is in use.
            let is_packed = kind != ResourceType::Secret;
            let dictionary = is_packed.then(|| dictionaries.entry(kind).or_default());
            set.insert(key, Some(Stored::new(bytes, for_modules, dictionary)));
        }
        complete.extend(update.complete);
    }

    /// Applies a difference. Without one the generation stays.
    pub fn apply(&mut self, difference: Difference) -> Generation {
        let mut news = difference
            .complete
            .iter()
            .any(|kind| !self.complete.contains(kind));
        self.complete.extend(difference.complete);
        self.dictionaries = difference.dictionaries;
        let mut changed = Vec::new();
        for ((kind, name), now) in difference.set {
            let resources = self.resources.entry(kind).or_default();
            let catalogue = self.catalogues.entry(kind).or_default();
            if let Some(stored) = now {
                catalogue.set(&name, stored.version);
                resources.insert(name.clone(), stored);
            } else {
                catalogue.remove(&name);
                resources.remove(&name);
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

    /// The latest publication.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// True if the cache has all of a type; otherwise a missing resource may still come.
    pub(crate) fn is_complete(&self, kind: ResourceType) -> bool {
        self.complete.contains(&kind)
    }

    /// One resource.
    pub fn find(&self, kind: ResourceType, name: &str) -> Option<&Stored> {
        self.resources.get(&kind)?.get(name)
    }

    pub(crate) fn catalogue(&self, kind: ResourceType) -> Option<&Catalogue> {
        self.catalogues.get(&kind)
    }

    /// A name, shared with that of the resource when there is one.
    pub(crate) fn name(&self, kind: ResourceType, name: &str) -> Name {
        let known = self.resources.get(&kind);
        let known = known.and_then(|all| all.get_key_value(name));
        known.map_or_else(|| Name::from(name), |(name, _)| name.clone())
    }

    /// The version of every resource.
    pub fn versions(&self) -> impl Iterator<Item = (ResourceType, &Name, Version)> {
        self.resources.iter().flat_map(|(kind, resources)| {
            resources
                .iter()
                .map(|(name, stored)| (*kind, name, stored.version))
        })
    }

    /// Changes after a generation; `None` when they are no longer known.
    pub(crate) fn since(
        &self,
        cursor: Generation,
    ) -> Option<impl Iterator<Item = &(ResourceType, Name)>> {
        self.history.since(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(cache: &mut Cache, update: Update) -> Generation {
        let difference = cache.difference(update);
        cache.apply(difference)
    }

    fn setting(name: &str, bytes: &[u8]) -> Update {
        let mut update = Update::default();
        update.set(ResourceType::Cluster, name, bytes.to_vec());
        update
    }

    #[test]
    fn unchanged_bytes_are_no_news() {
        let mut cache = Cache::default();
        let first = apply(&mut cache, setting("a", b"1"));
        assert_eq!(apply(&mut cache, setting("a", b"1")), first);
        let second = apply(&mut cache, setting("a", b"2"));
        assert!(second > first);
        assert_eq!(cache.since(first).map(Iterator::count), Some(1));
    }

    #[test]
    fn removing_what_is_not_there_is_no_news() {
        let mut cache = Cache::default();
        let mut update = Update::default();
        update.remove(ResourceType::Cluster, "a");
        assert_eq!(apply(&mut cache, update), Generation::default());
    }

    /// Three updates of one resource, whatever they say and whatever was there.
    #[test]
    fn updates_one_after_the_other_make_the_difference_of_all_of_them() {
        let changes = [
            Change::Set(b"1".to_vec()),
            Change::Set(b"2".to_vec()),
            Change::Remove,
            Change::Keep,
        ];
        let update = |change: &Change| {
            let key = (ResourceType::Cluster, Name::from("a"));
            Update {
                changes: [(key, change.clone())].into(),
                ..Update::default()
            }
        };
        for was_there in [false, true] {
            for sequence in 0..4_usize.pow(3) {
                let updates = [0, 1, 2].map(|n| update(&changes[sequence / 4_usize.pow(n) % 4]));
                let (mut one_by_one, mut at_once) = (Cache::default(), Cache::default());
                for cache in [&mut one_by_one, &mut at_once] {
                    if was_there {
                        apply(cache, setting("a", b"1"));
                    }
                }
                let mut difference = one_by_one.no_difference();
                let mut all = Update::default();
                for update in updates {
                    one_by_one.add_to(&mut difference, update.clone());
                    all.merge(update);
                }
                let generations = [one_by_one.apply(difference), apply(&mut at_once, all)];
                assert_eq!(generations[0], generations[1], "{was_there} {sequence}");
                let versions = [one_by_one, at_once].map(|cache| {
                    let found = cache.find(ResourceType::Cluster, "a");
                    found.map(|stored| stored.version)
                });
                assert_eq!(versions[0], versions[1], "{was_there} {sequence}");
            }
        }
    }
}
