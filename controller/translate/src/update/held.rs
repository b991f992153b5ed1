//! Secrets and users that route groups hold: one that nobody holds any more goes.

use std::collections::BTreeSet;

use sluice_ir::SecretId;

use crate::Translation;
use crate::secrets::Secrets;

impl Translation {
    pub(super) fn hold(&mut self, secrets: Secrets) -> BTreeSet<SecretId> {
        let Secrets { values, users } = secrets;
        let ids: BTreeSet<SecretId> = values.keys().chain(users.keys()).cloned().collect();
        for id in &ids {
            *self.holders.entry(id.clone()).or_default() += 1;
        }
        self.config.secrets.extend(values);
        self.config
            .users
            .extend(users.into_iter().map(|(id, listed)| (id, listed.text)));
        ids
    }

    pub(super) fn let_go(&mut self, ids: &BTreeSet<SecretId>) {
        for id in ids {
            let Some(count) = self.holders.get_mut(id) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.holders.remove(id);
                self.config.secrets.remove(id);
                self.config.users.remove(id);
            }
        }
    }
}
