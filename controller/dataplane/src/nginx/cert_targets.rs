//! Links to certificates, and the files that nobody links to any more.

use std::collections::{BTreeMap, BTreeSet};

/// Links with their targets.
#[derive(Debug, Default)]
pub(super) struct Links {
    targets: BTreeMap<String, String>,
    /// Number of the links to a target.
    counts: BTreeMap<String, usize>,
    /// Targets without a link.
    unused: BTreeSet<String>,
}

impl Links {
    pub(super) fn target(&self, name: &str) -> Option<&String> {
        self.targets.get(name)
    }

    /// Points a link to a target; `None`: there is no such link any more.
    pub(super) fn set(&mut self, name: &str, target: Option<&str>) {
        let former = match target {
            Some(target) => {
                *self.counts.entry(target.to_owned()).or_default() += 1;
                self.unused.remove(target);
                self.targets.insert(name.to_owned(), target.to_owned())
            }
            None => self.targets.remove(name),
        };
        let Some(former) = former else {
            return;
        };
        let count = self.counts.entry(former.clone()).or_default();
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&former);
            self.unused.insert(former);
        }
    }

    /// The targets that have lost their last link since the last call.
    pub(super) fn take_unused(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.unused)
    }

    /// Notes such a target again.
    pub(super) fn add_unused(&mut self, target: String) {
        self.unused.insert(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_unused_when_its_last_link_is_gone() {
        let mut links = Links::default();
        for (name, target) in [("a", Some("x")), ("b", Some("x")), ("a", Some("y"))] {
            links.set(name, target);
        }
        assert!(links.take_unused().is_empty());
        links.set("b", None);
        links.set("b", None);
        assert_eq!(links.take_unused(), ["x".to_owned()].into());
        links.set("a", Some("y"));
        links.set("a", Some("x"));
        links.set("a", Some("y"));
        assert_eq!(links.take_unused(), ["x".to_owned()].into());
    }
}
