//! Versions that a client has of one type.
//!
//! There may be hundreds of clients with tens of thousands of resources each, and all of them have nearly the same. So a client
//! shares the cache's own map from its first request, and keeps the names that it still lacks, which are shared as well and
//! become fewer. Whoever has everything has no memory of its own for that.

use imbl::{OrdMap, OrdSet};
use sluice_xds_resource::Name;

use crate::version::Version;

/// Names and versions of all resources of a type. Persistent: a clone costs next to nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    versions: OrdMap<Name, Option<Version>>,
    names: OrdSet<Name>,
}

impl Catalogue {
    pub(crate) fn set(&mut self, name: &Name, version: Version) {
        if !self.names.contains(name) {
            self.names.insert(name.clone());
        }
        self.versions.insert(name.clone(), Some(version));
    }

    pub(crate) fn remove(&mut self, name: &Name) {
        self.names.remove(name);
        self.versions.remove(name);
    }

    pub(crate) fn names(&self) -> &OrdSet<Name> {
        &self.names
    }
}

/// Versions that a client has; `None` is a version that is not ours.
#[derive(Debug, Default)]
pub(crate) struct Known {
    versions: OrdMap<Name, Option<Version>>,
    /// Those of `versions` that the client does not have.
    lacking: OrdSet<Name>,
}

impl Known {
    /// Nothing yet, of a client that may come to have all of this.
    pub(crate) fn none_of(all: &Catalogue) -> Self {
        Known {
            versions: all.versions.clone(),
            lacking: all.names.clone(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Option<Version>> {
        let version = self.versions.get(name)?;
        (!self.lacking.contains(name)).then_some(version)
    }

    pub(crate) fn insert(&mut self, name: &Name, version: Option<Version>) {
        self.has(name);
        // An insertion ends sharing, also one of what is there.
        if self.versions.get(name) != Some(&version) {
            self.versions.insert(name.clone(), version);
        }
    }

    pub(crate) fn remove(&mut self, name: &Name) {
        self.has(name);
        if self.versions.contains_key(name) {
            self.versions.remove(name);
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        let names = self.versions.keys();
        names.filter(|name| !self.lacking.contains(*name))
    }

    /// Takes the cache's own maps, in the place of those of a client of which nothing is dirty: each version that it has is that
    /// of the cache, and each of `names`, if it asks by name, that is in the cache is one that it has. So equal sizes are enough.
    pub(crate) fn share(&mut self, all: &Catalogue, names: Option<&mut OrdSet<Name>>) {
        if self.versions.len() - self.lacking.len() != all.versions.len() {
            return;
        }
        self.versions.clone_from(&all.versions);
        self.lacking = OrdSet::new();
        if let Some(names) = names
            && names.len() == all.names.len()
        {
            names.clone_from(&all.names);
        }
    }

    fn has(&mut self, name: &Name) {
        if self.lacking.contains(name) {
            self.lacking.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn version(text: &str) -> Version {
        Version::hash(text.as_bytes())
    }

    fn catalogue(names: &[&str]) -> Catalogue {
        let mut all = Catalogue::default();
        for name in names {
            all.set(&Name::from(*name), version(name));
        }
        all
    }

    fn has(known: &Known, names: &[&str]) -> bool {
        let all: Vec<&str> = known.names().map(|name| &**name).collect();
        all == names && names.iter().all(|name| known.get(name).is_some())
    }

    #[test]
    fn a_client_on_its_way_to_all_shares_it_from_the_beginning_to_the_end() {
        let all = catalogue(&["a", "b", "c"]);
        let mut known = Known::none_of(&all);
        assert!(has(&known, &[]) && known.get("a").is_none());
        for name in ["a", "b", "c"] {
            known.insert(&name.into(), Some(version(name)));
            assert!(known.versions.ptr_eq(&all.versions), "{name}");
        }
        assert!(has(&known, &["a", "b", "c"]) && known.lacking.is_empty());
    }

    #[test]
    fn a_client_that_has_all_takes_the_names_too_and_one_that_has_less_does_not() {
        let all = catalogue(&["a", "b"]);
        let (mut known, mut names) = (Known::default(), OrdSet::new());
        for name in ["a", "b"] {
            known.share(&all, Some(&mut names));
            assert!(!names.ptr_eq(&all.names));
            known.insert(&name.into(), Some(version(name)));
            names.insert(name.into());
        }
        known.share(&all, Some(&mut names));
        assert!(known.versions.ptr_eq(&all.versions) && names.ptr_eq(&all.names));

        let mut later = all.clone();
        later.set(&"a".into(), version("new"));
        later.remove(&"b".into());
        assert_eq!(
            known.get("a"),
            Some(&Some(version("a"))),
            "what is shared stays"
        );
        assert!(has(&known, &["a", "b"]));
    }

    #[test]
    fn it_is_what_a_map_of_its_own_would_be() {
        let names = ["a", "b", "c", "d", "e"];
        let (mut known, mut model) = (Known::none_of(&catalogue(&names[..4])), BTreeMap::new());
        // A walk that meets each name in each state.
        for step in 0..500_usize {
            let name = Name::from(names[step * 7 % 5]);
            match step * step % 11 {
                0..=3 => {
                    known.remove(&name);
                    model.remove(&name);
                }
                4 => {
                    known.insert(&name, None);
                    model.insert(name, None);
                }
                other => {
                    let version = version(if other < 8 { &name } else { "new" });
                    known.insert(&name, Some(version));
                    model.insert(name, Some(version));
                }
            }
            assert!(known.names().eq(model.keys()), "{step}");
            for name in names {
                assert_eq!(known.get(name), model.get(name), "{step}: {name}");
            }
        }
    }
}
