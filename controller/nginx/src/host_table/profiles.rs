//! The named locations that paths of a table lead to: the directives between their braces, each once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::files::names::hash;

/// All profiles, counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profiles {
    by_text: HashMap<Arc<str>, Arc<str>>,
    by_name: BTreeMap<Arc<str>, Profile>,
    /// Those whose use was counted since the last look, and whether they were used before.
    touched: BTreeMap<Arc<str>, bool>,
}

#[derive(Clone, Debug)]
struct Profile {
    text: Arc<str>,
    /// Rendered hosts that have it.
    hosts: usize,
    /// Those among them that are in the table.
    in_table: usize,
}

impl Profiles {
    /// The name of a profile, which somebody is about to [keep](Self::keep).
    pub(crate) fn name(&mut self, text: String) -> Arc<str> {
        if let Some(name) = self.by_text.get(text.as_str()) {
            return Arc::clone(name);
        }
        let name: Arc<str> = format!("@sluice_profile_{}", hash(&text)).into();
        let text: Arc<str> = text.into();
        self.by_text.insert(Arc::clone(&text), Arc::clone(&name));
        let profile = Profile {
            text,
            hosts: 0,
            in_table: 0,
        };
        self.by_name.insert(Arc::clone(&name), profile);
        name
    }

    /// Counts a host with these profiles.
    pub(crate) fn keep(&mut self, names: &BTreeSet<Arc<str>>) {
        for name in names {
            if let Some(profile) = self.by_name.get_mut(name) {
                profile.hosts += 1;
            }
        }
    }

    /// Counts it no more.
    pub(crate) fn forget(&mut self, names: &BTreeSet<Arc<str>>) {
        for name in names {
            if let Some(profile) = self.by_name.get_mut(name) {
                profile.hosts -= 1;
                // It may be kept again before the next look.
                self.touched
                    .entry(Arc::clone(name))
                    .or_insert(profile.in_table > 0);
            }
        }
    }

    /// A host with these is in the table from now on, or is not any more.
    pub(crate) fn set_in_table(&mut self, names: &BTreeSet<Arc<str>>, is_in_table: bool) {
        for name in names {
            let Some(profile) = self.by_name.get_mut(name) else {
                continue;
            };
            self.touched
                .entry(Arc::clone(name))
                .or_insert(profile.in_table > 0);
            match is_in_table {
                true => profile.in_table += 1,
                false => profile.in_table -= 1,
            }
        }
    }

    /// True if others are used than at the last look. Forgets those that nobody keeps.
    pub(crate) fn have_changed(&mut self) -> bool {
        let mut changed = false;
        for (name, was_used) in std::mem::take(&mut self.touched) {
            let Some(profile) = self.by_name.get(&name) else {
                continue;
            };
            changed |= was_used != (profile.in_table > 0);
            if profile.hosts == 0 {
                self.by_text.remove(&profile.text);
                self.by_name.remove(&name);
            }
        }
        changed
    }

    /// Those of the table, in the order of their names.
    pub(crate) fn used(&self) -> impl Iterator<Item = (&Arc<str>, &str)> {
        let profiles = self.by_name.iter();
        profiles
            .filter(|(_, profile)| profile.in_table > 0)
            .map(|(name, profile)| (name, &*profile.text))
    }
}
