//! The DNS names that backends are made from, and the namespaces that want them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::BackendId;
use sluice_syntax::DnsName;

/// The names that backends are made from, and the namespaces that want them.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsedNames {
    of_backend: BTreeMap<BackendId, WantedName>,
    backends: BTreeMap<DnsName, BTreeMap<Arc<str>, BTreeSet<BackendId>>>,
}

/// A name, and the namespaces whose objects lead there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedName {
    pub(crate) name: DnsName,
    pub(crate) namespaces: BTreeSet<Arc<str>>,
}

impl UsedNames {
    /// A backend is made from this name now, or from none. Names that a namespace wants first or no longer go into `touched`.
    pub(crate) fn set(
        &mut self,
        id: &BackendId,
        now: Option<WantedName>,
        touched: &mut BTreeSet<DnsName>,
    ) {
        let before = match &now {
            Some(now) => self.of_backend.insert(id.clone(), now.clone()),
            None => self.of_backend.remove(id),
        };
        if before == now {
            return;
        }
        let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
        if let Some(WantedName { name, namespaces }) = before {
            namespaces
                .into_iter()
                .filter(|of| self.take_back(id, &name, of))
                .for_each(|of| {
                    gone.insert((name.clone(), of));
                });
        }
        if let Some(WantedName { name, namespaces }) = now {
            for of in namespaces {
                let backends = self
                    .backends
                    .entry(name.clone())
                    .or_default()
                    .entry(Arc::clone(&of))
                    .or_default();
                if backends.is_empty() {
                    come.insert((name.clone(), of));
                }
                backends.insert(id.clone());
            }
        }
        touched.extend(
            gone.symmetric_difference(&come)
                .map(|(name, _)| name.clone()),
        );
    }

    /// `true`: it was the last backend for which that namespace wants the name.
    fn take_back(&mut self, id: &BackendId, name: &DnsName, namespace: &str) -> bool {
        let Some(namespaces) = self.backends.get_mut(name) else {
            return false;
        };
        let Some(backends) = namespaces.get_mut(namespace) else {
            return false;
        };
        backends.remove(id);
        let was_last = backends.is_empty();
        if was_last {
            namespaces.remove(namespace);
        }
        if namespaces.is_empty() {
            self.backends.remove(name);
        }
        was_last
    }

    pub(crate) fn contains(&self, name: &DnsName) -> bool {
        self.backends.contains_key(name)
    }

    /// The backends that are made from a name; one for each namespace that wants it there.
    pub(crate) fn backends(&self, name: &DnsName) -> impl Iterator<Item = &BackendId> {
        self.backends
            .get(name)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
    }

    /// The namespaces that want a name.
    pub(crate) fn namespaces(&self, name: &DnsName) -> impl Iterator<Item = &Arc<str>> {
        self.backends.get(name).into_iter().flat_map(BTreeMap::keys)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &DnsName> {
        self.backends.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_touched_by_the_first_backend_of_a_namespace_and_its_last() {
        let (mut used, name) = (UsedNames::default(), DnsName::parse("a.example").unwrap());
        let (one, two) = (BackendId::new("n/one/80"), BackendId::new("n/two/80"));
        let mut set = |id: &BackendId, namespaces: &[&str]| {
            let namespaces: BTreeSet<Arc<str>> = namespaces.iter().map(|of| (*of).into()).collect();
            let now = (!namespaces.is_empty()).then(|| WantedName {
                name: name.clone(),
                namespaces,
            });
            let mut touched = BTreeSet::new();
            used.set(id, now, &mut touched);
            touched.len()
        };
        let counts = [
            set(&one, &["n"]),
            set(&one, &["n"]),
            set(&two, &["n"]),
            set(&one, &[]),
        ];
        assert_eq!(counts, [1, 0, 0, 0]);
        assert_eq!(
            [set(&two, &["n", "m"]), set(&two, &["m"]), set(&one, &["m"])],
            [1, 1, 0]
        );
        assert_eq!([set(&one, &[]), set(&two, &[])], [0, 1]);
        assert!(!used.contains(&name));
    }
}
