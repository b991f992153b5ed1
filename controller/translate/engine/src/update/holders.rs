//! Holders of wildcard hosts.

use std::collections::BTreeSet;

use sluice_ir::Hostname;

use crate::Translation;
use crate::input::RouteInput;

impl<S> Translation<S> {
    /// Looks up who holds these wildcards now, and returns those of which that has changed.
    pub(super) fn look_up_holders<I: RouteInput<Settings = S>>(
        &mut self,
        suffixes: BTreeSet<Hostname>,
        input: &I,
    ) -> BTreeSet<Hostname> {
        let mut changed = BTreeSet::new();
        for suffix in suffixes {
            let now = input.wildcard_holder(&suffix, &self.shared_inputs.settings);
            let before = match &now {
                Some(holder) => self.wildcards.insert(suffix.clone(), holder.clone()),
                None => self.wildcards.remove(&suffix),
            };
            if before != now {
                changed.insert(suffix);
            }
        }
        changed
    }
}
