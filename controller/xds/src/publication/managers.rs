//! Connection managers of listeners.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::SharedManagers;
use crate::{ResourceType, Update};

/// Names of those that were published, by listener.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagerNames(BTreeMap<String, BTreeSet<String>>);

impl ManagerNames {
    /// Sets the managers of a listener. Those that it no longer has are forgotten at once: a client that has not taken the listener yet
    /// keeps them.
    pub(super) fn replace(
        &mut self,
        listener: &str,
        managers: &SharedManagers,
        update: &mut Update,
    ) {
        let mut now = BTreeSet::new();
        for (name, manager) in managers.iter() {
            update.put(ResourceType::Extension, name, manager);
            now.insert(name.to_owned());
        }
        let before = self.0.insert(listener.to_owned(), now.clone());
        for name in before.unwrap_or_default().difference(&now) {
            update.remove(ResourceType::Extension, name);
        }
    }

    /// Removes the managers of listeners that are gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(&str) -> bool, update: &mut Update) {
        let gone = self.0.extract_if(.., |listener, _| !is_there(listener));
        for name in gone.flat_map(|(_, names)| names) {
            update.remove(ResourceType::Extension, &name);
        }
    }
}
