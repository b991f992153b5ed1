//! Claims of Ingresses on paths of hosts, so that one Ingress can be judged without looking at all of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Hostname, ServerName};
use sluice_translate_engine::{Age, Ingress, ObjectKey, age};

use crate::servers::names;

/// Hosts and paths of every Ingress, of whatever class, by age. Flat: most hosts have one claim, and a map of its own for each
/// would be most of what is remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// By host and path. `None`, which is before every age, is where a search begins.
    paths: BTreeSet<((String, String), Option<Age>)>,
    /// By host, with how many of its paths each of them claims. A host may have more paths than anybody wants to look at for
    /// one authentication service.
    claimants: BTreeMap<(String, Option<Age>), usize>,
    /// Ingresses that name a wildcard host, as a host or as an alias, by what follows the star.
    wildcards: BTreeSet<(Hostname, Option<Age>)>,
}

impl Claims {
    pub(crate) fn add(&mut self, ingress: &Ingress) {
        let age = Some(age(ingress));
        self.wildcards
            .extend(wildcards(ingress).map(|suffix| (suffix, age.clone())));
        for (host, path) in paths(ingress) {
            if self.paths.insert(((host.clone(), path), age.clone())) {
                *self.claimants.entry((host, age.clone())).or_default() += 1;
            }
        }
    }

    pub(crate) fn remove(&mut self, ingress: &Ingress) {
        let age = Some(age(ingress));
        for suffix in wildcards(ingress) {
            self.wildcards.remove(&(suffix, age.clone()));
        }
        for (host, path) in paths(ingress) {
            if !self.paths.remove(&((host.clone(), path), age.clone())) {
                continue;
            }
            let claimant = (host, age.clone());
            if let Some(count) = self.claimants.get_mut(&claimant) {
                *count -= 1;
                if *count == 0 {
                    self.claimants.remove(&claimant);
                }
            }
        }
    }

    /// The oldest Ingress that names a host.
    pub(crate) fn oldest_of_host(&self, host: &str) -> Option<&ObjectKey> {
        let ((claimed, oldest), _) = self.claimants.range((host.to_owned(), None)..).next()?;
        oldest
            .as_ref()
            .filter(|_| claimed == host)
            .map(|(_, _, Reverse(key))| key)
    }

    /// Every wildcard host, by what follows its star.
    pub(crate) fn wildcards(&self) -> BTreeSet<Hostname> {
        self.wildcards
            .iter()
            .map(|(suffix, _)| suffix.clone())
            .collect()
    }

    /// Ingresses that name a wildcard host, the oldest first.
    pub(crate) fn of_wildcard<'a>(&'a self, suffix: &'a Hostname) -> impl Iterator<Item = &'a Age> {
        let names = self.wildcards.range((suffix.clone(), None)..);
        names
            .take_while(move |(other, _)| other == suffix)
            .filter_map(|(_, age)| age.as_ref())
    }

    /// Ingresses that claim a path, the oldest first.
    pub(crate) fn of_path(
        &self,
        host: &str,
        path: &str,
    ) -> impl Iterator<Item = &ObjectKey> + use<'_> {
        let claimed = (host.to_owned(), path.to_owned());
        let from = (claimed.clone(), None);
        let claims = self
            .paths
            .range(from..)
            .take_while(move |(other, _)| *other == claimed);
        claims
            .filter_map(|(_, age)| age.as_ref())
            .map(|(_, _, Reverse(key))| key)
    }
}

fn wildcards(ingress: &Ingress) -> impl Iterator<Item = Hostname> {
    names(ingress).into_iter().filter_map(|name| match name {
        ServerName::Wildcard(suffix) => Some(suffix),
        ServerName::Exact(_) | ServerName::CatchAll => None,
    })
}

/// Every path of an Ingress with its host, as they are compared. A host without a path stands with an empty one.
pub(crate) fn paths(ingress: &Ingress) -> impl Iterator<Item = (String, String)> {
    let rules = ingress
        .spec
        .iter()
        .flat_map(|spec| spec.rules.iter().flatten());
    rules.flat_map(|rule| {
        let host = rule
            .host
            .as_deref()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let paths = rule
            .http
            .as_ref()
            .map(|http| http.paths.as_slice())
            .unwrap_or_default();
        let named = paths.iter().map(|path| {
            path.path
                .as_deref()
                .filter(|path| !path.is_empty())
                .unwrap_or("/")
        });
        let bare = paths.is_empty().then_some("");
        named
            .chain(bare)
            .map(|path| (host.clone(), path.to_owned()))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use sluice_translate_engine::Object;

    use super::*;

    fn ingress(name: &str, created: &str, host: &str, path: &str) -> Ingress {
        let paths =
            json!([{"path": path, "backend": {"service": {"name": "a", "port": {"number": 80}}}}]);
        let object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"rules": [{"host": host, "http": {"paths": paths}}]},
        });
        match Object::from_value(object).unwrap() {
            Object::Ingress(ingress) => Arc::unwrap_or_clone(ingress),
            other => panic!("{other:?}"),
        }
    }

    fn claimers(claims: &Claims, host: &str, path: &str) -> Vec<String> {
        claims
            .of_path(host, path)
            .map(|key| key.name.to_string())
            .collect()
    }

    #[test]
    fn the_oldest_claim_comes_first_and_of_the_same_age_the_last_name() {
        let mut claims = Claims::default();
        claims.add(&ingress("a", "2026-01-02T00:00:00Z", "x.y", ""));
        claims.add(&ingress("b", "2026-01-01T00:00:00Z", "X.y", "/"));
        claims.add(&ingress("c", "2026-01-01T00:00:00Z", "x.y", "/"));
        assert_eq!(claimers(&claims, "x.y", "/"), ["c", "b", "a"]);
        assert_eq!(claimers(&claims, "x.y", "/other"), [""; 0]);
    }

    #[test]
    fn the_oldest_of_a_host_is_known_whatever_its_path_until_all_of_its_paths_are_gone() {
        let mut claims = Claims::default();
        let old = ingress("old", "2026-01-01T00:00:00Z", "x.y", "/z");
        let young = ingress("young", "2026-01-02T00:00:00Z", "x.y", "/a");
        for ingress in [&young, &old, &old] {
            claims.add(ingress);
        }
        let first = |claims: &Claims| claims.oldest_of_host("x.y").map(|key| key.name.clone());
        assert_eq!(first(&claims).as_deref(), Some("old"));
        claims.remove(&old);
        assert_eq!(first(&claims).as_deref(), Some("young"));
        claims.remove(&old);
        claims.remove(&young);
        assert_eq!(first(&claims), None);
    }

    #[test]
    fn what_is_removed_leaves_nothing_behind() {
        let mut claims = Claims::default();
        let first = ingress("a", "2026-01-01T00:00:00Z", "x.y", "/");
        let wild = ingress("w", "2026-01-01T00:00:00Z", "*.x.y", "/");
        [&first, &wild]
            .iter()
            .for_each(|ingress| claims.add(ingress));
        [&first, &wild]
            .iter()
            .for_each(|ingress| claims.remove(ingress));
        assert!(
            claims.paths.is_empty() && claims.claimants.is_empty() && claims.wildcards.is_empty()
        );
    }
}
