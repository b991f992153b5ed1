//! The entries of one kind, as the log keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};

/// Entries by id, with the sum of their hashes.
///
/// Each is kept as its JSON: a third of what its value takes, and it is only asked for when somebody has to be told of it.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: BTreeMap<String, Box<RawValue>>,
    content: u128,
    of: PhantomData<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            entries: BTreeMap::new(),
            content: 0,
            of: PhantomData,
        }
    }
}

impl<T> Table<T> {
    /// The sum of the hashes.
    pub(crate) fn content(&self) -> u128 {
        self.content
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }
}

impl<T: Serialize + DeserializeOwned> Table<T> {
    /// Sets or removes one entry; `false` when it was so already.
    pub(crate) fn set(&mut self, id: &str, value: Option<T>) -> bool {
        // The wire types have string keys and plain values only: they always serialise.
        let value = value.and_then(|value| to_raw_value(&value).ok());
        // What could not be read again would be missing from an answer without a word.
        debug_assert!(
            value.iter().all(|value| read::<T>(value).is_some()),
            "{id}: {value:?}"
        );
        let text = value.as_deref().map(RawValue::get);
        if self.entries.get(id).map(|value| value.get()) == text {
            return false;
        }
        let before = match value {
            Some(value) => {
                self.content = self.content.wrapping_add(hash(id, &value));
                self.entries.insert(id.to_owned(), value)
            }
            None => self.entries.remove(id),
        };
        self.content = self
            .content
            .wrapping_sub(before.map_or(0, |value| hash(id, &value)));
        true
    }

    /// Makes these the entries and names those that are not as before.
    pub(crate) fn replace(
        &mut self,
        entries: impl Iterator<Item = (String, T)>,
    ) -> BTreeSet<String> {
        let mut gone: BTreeSet<String> = self.entries.keys().cloned().collect();
        let mut touched = BTreeSet::new();
        for (id, value) in entries {
            gone.remove(&id);
            if self.set(&id, Some(value)) {
                touched.insert(id);
            }
        }
        for id in gone {
            self.set(&id, None);
            touched.insert(id);
        }
        touched
    }

    /// As they are, for an answer with all of them.
    pub(crate) fn as_json(&self) -> &BTreeMap<String, Box<RawValue>> {
        &self.entries
    }

    pub(crate) fn values(&self) -> BTreeMap<String, T> {
        self.entries
            .iter()
            .filter_map(|(id, value)| Some((id.clone(), read(value)?)))
            .collect()
    }

    /// Present state of these ids: there or gone.
    pub(crate) fn pick(&self, ids: BTreeSet<&String>) -> (BTreeMap<String, T>, Vec<String>) {
        let mut present = BTreeMap::new();
        let mut gone = Vec::new();
        for id in ids {
            match self.entries.get(id).and_then(|value| read(value)) {
                Some(value) => drop(present.insert(id.clone(), value)),
                None => gone.push(id.clone()),
            }
        }
        (present, gone)
    }
}

/// Reads back what was written here.
fn read<T: DeserializeOwned>(value: &RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// SHA-256 of the length-prefixed id and the value's JSON, cut to 128 bits.
fn hash(id: &str, value: &RawValue) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update(id.len().to_le_bytes());
    hasher.update(id.as_bytes());
    hasher.update(value.get());
    let digest = hasher.finalize();
    digest
        .iter()
        .take(16)
        .fold(0, |hash, byte| (hash << 8) | u128::from(*byte))
}
