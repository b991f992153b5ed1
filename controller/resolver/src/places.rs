//! Names that are looked up: of each namespace so many, in the order in which they came (R5 of the security rules).
//!
//! A name that several namespaces have counts for the one that has fewest: nobody loses a name by what others name.

use std::collections::{BTreeMap, BTreeSet};

use sluice_translate::DnsName;

/// Names of one namespace.
pub(super) const MOST: usize = 500;

/// The names, and for whom they are looked up.
#[derive(Debug, Default)]
pub(super) struct Places {
    names: BTreeMap<DnsName, Name>,
    /// Names that are looked up for a namespace.
    taken: BTreeMap<String, usize>,
    /// Names that wait for a place, by namespace.
    waiting: BTreeMap<String, BTreeSet<DnsName>>,
}

#[derive(Debug, Default)]
struct Name {
    namespaces: BTreeSet<String>,
    /// The namespace that it counts for; `None`: it waits.
    of: Option<String>,
}

/// Outcome for a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is looked up for this namespace.
    For(String),
    /// None of its namespaces has a place for it.
    Nowhere,
}

impl Places {
    /// These namespaces have the name from now on, and no others. Says what becomes of names that had no place, or had
    /// another one.
    pub(super) fn set(
        &mut self,
        name: &DnsName,
        namespaces: BTreeSet<String>,
    ) -> Vec<(DnsName, Placed)> {
        let before = self.names.remove(name);
        let of = before.as_ref().and_then(|before| before.of.clone());
        for namespace in before
            .iter()
            .filter(|_| of.is_none())
            .flat_map(|before| &before.namespaces)
        {
            self.wait_no_more(namespace, name);
        }
        let stays = of.as_ref().is_some_and(|of| namespaces.contains(of));
        if stays {
            self.names.insert(name.clone(), Name { namespaces, of });
            return Vec::new();
        }
        let is_wanted = !namespaces.is_empty();
        let placed = is_wanted.then(|| (name.clone(), self.place(name, namespaces)));
        placed.into_iter().chain(self.free(of.as_deref())).collect()
    }

    /// Number of names that count for a namespace.
    #[cfg(test)]
    fn taken(&self, namespace: &str) -> usize {
        self.taken.get(namespace).copied().unwrap_or_default()
    }

    fn place(&mut self, name: &DnsName, namespaces: BTreeSet<String>) -> Placed {
        let taken = |namespace: &String| self.taken.get(namespace).copied().unwrap_or_default();
        let fewest = namespaces.iter().min_by_key(|namespace| taken(namespace));
        let of = fewest.filter(|namespace| taken(namespace) < MOST).cloned();
        match &of {
            Some(of) => *self.taken.entry(of.clone()).or_default() += 1,
            None => {
                for namespace in &namespaces {
                    self.waiting
                        .entry(namespace.clone())
                        .or_default()
                        .insert(name.clone());
                }
            }
        }
        let placed = of.clone().map_or(Placed::Nowhere, Placed::For);
        self.names.insert(name.clone(), Name { namespaces, of });
        placed
    }

    /// A place of this namespace goes to a name that waits for it.
    fn free(&mut self, of: Option<&str>) -> Vec<(DnsName, Placed)> {
        let Some(of) = of else { return Vec::new() };
        if let Some(taken) = self.taken.get_mut(of) {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(of);
            }
        }
        let next = self.waiting.get(of).and_then(BTreeSet::first).cloned();
        let Some(next) = next else { return Vec::new() };
        let namespaces = self
            .names
            .remove(&next)
            .map(|name| name.namespaces)
            .unwrap_or_default();
        namespaces
            .iter()
            .for_each(|namespace| self.wait_no_more(namespace, &next));
        let placed = self.place(&next, namespaces);
        vec![(next, placed)]
    }

    fn wait_no_more(&mut self, namespace: &str, name: &DnsName) {
        if let Some(waiting) = self.waiting.get_mut(namespace) {
            waiting.remove(name);
            if waiting.is_empty() {
                self.waiting.remove(namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(n: usize) -> DnsName {
        DnsName::parse(&format!("n{n}.example")).unwrap()
    }

    fn of(namespaces: &[&str]) -> BTreeSet<String> {
        namespaces
            .iter()
            .map(|namespace| (*namespace).to_owned())
            .collect()
    }

    #[test]
    fn a_namespace_has_so_many_names_and_others_have_theirs() {
        let mut places = Places::default();
        for n in 0..MOST {
            assert_eq!(
                places.set(&name(n), of(&["crowd"])),
                [(name(n), Placed::For("crowd".to_owned()))]
            );
        }
        assert_eq!(
            places.set(&name(MOST), of(&["crowd"])),
            [(name(MOST), Placed::Nowhere)]
        );
        // Of two namespaces that have it, one has room.
        let shop = Placed::For("shop".to_owned());
        assert_eq!(
            places.set(&name(MOST), of(&["crowd", "shop"])),
            [(name(MOST), shop)]
        );
        assert_eq!(
            places.set(&name(MOST + 1), of(&["crowd"])),
            [(name(MOST + 1), Placed::Nowhere)]
        );
        // A place that is given back goes to who waits.
        let next = [(name(MOST + 1), Placed::For("crowd".to_owned()))];
        assert_eq!(places.set(&name(0), BTreeSet::new()), next);
        assert_eq!(
            places.set(&name(MOST), of(&["shop"])),
            [],
            "it stays where it is"
        );
    }

    proptest! {
        #[test]
        fn nobody_has_more_than_there_is_and_nobody_waits_for_what_is_free(
            steps in prop::collection::vec((0..4 * MOST, 0..8_u8), 0..6000),
        ) {
            let (mut places, mut told) = (Places::default(), BTreeMap::new());
            for (n, namespaces) in steps {
                let all = ["a", "b", "c"].into_iter().enumerate();
                let namespaces: BTreeSet<String> =
                    all.filter(|(bit, _)| namespaces & (1 << bit) != 0).map(|(_, of)| of.to_owned()).collect();
                let is_gone = namespaces.is_empty();
                told.extend(places.set(&name(n), namespaces));
                if is_gone {
                    told.remove(&name(n));
                }
            }
            for (name, known) in &places.names {
                let placed = known.of.clone().map_or(Placed::Nowhere, Placed::For);
                prop_assert_eq!(told.get(name), Some(&placed));
                let has_room = known.namespaces.iter().any(|of| places.taken(of) < MOST);
                prop_assert!(known.of.is_some() || !has_room);
            }
            prop_assert_eq!(told.len(), places.names.len());
            for namespace in ["a", "b", "c"] {
                let taken = places.names.values().filter(|name| name.of.as_deref() == Some(namespace)).count();
                prop_assert!(taken == places.taken(namespace) && taken <= MOST);
            }
        }
    }
}
