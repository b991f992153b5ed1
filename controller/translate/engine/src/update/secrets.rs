//! Secrets and users that route groups and flags refer to: one without references is removed.

use std::collections::BTreeSet;

use sluice_ir::SecretId;

use crate::Translation;
use crate::secrets::Secrets;

impl<S> Translation<S> {
    /// Counts a reference to each of these.
    pub(super) fn acquire(&mut self, secrets: Secrets) -> BTreeSet<SecretId> {
        let Secrets { values, users } = secrets;
        let ids: BTreeSet<SecretId> = values.keys().chain(users.keys()).cloned().collect();
        for id in &ids {
            *self.secret_references.entry(id.clone()).or_default() += 1;
        }
        self.config.secrets.extend(values);
        self.config
            .users
            .extend(users.into_iter().map(|(id, list)| (id, list.file)));
        ids
    }

    /// Drops a reference to each of these.
    pub(super) fn release(&mut self, ids: &BTreeSet<SecretId>) {
        for id in ids {
            let Some(count) = self.secret_references.get_mut(id) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.secret_references.remove(id);
                self.config.secrets.remove(id);
                self.config.users.remove(id);
            }
        }
    }
}
