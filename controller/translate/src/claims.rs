//! Which Ingresses claim which path of which host: so that one Ingress can be judged without looking at all of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::ObjectKey;
use crate::object::key_of;

/// The order in which Ingresses are read: the oldest first; of the same age by name, the last first.
pub(crate) type Age = (Option<Time>, Reverse<ObjectKey>);

/// The age of an Ingress.
pub(crate) fn age(ingress: &Ingress) -> Age {
    (ingress.metadata.creation_timestamp.clone(), Reverse(key_of(&ingress.metadata)))
}

/// The same, where an Ingress that is not stored yet is the youngest of all (`true`).
pub(crate) type Seniority = (bool, Age);

/// Hosts and paths of every Ingress, of whatever class, by age.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    hosts: BTreeMap<String, Host>,
}

/// Who claims something of one host. A host may have more paths than anybody wants to look at for one question.
#[derive(Clone, Debug, Default)]
struct Host {
    paths: BTreeMap<String, BTreeSet<Age>>,
    /// With how many of the paths each of them claims.
    claimants: BTreeMap<Age, usize>,
}

impl Host {
    fn add(&mut self, path: String, age: &Age) {
        if self.paths.entry(path).or_default().insert(age.clone()) {
            *self.claimants.entry(age.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, path: &str, age: &Age) {
        let Some(claims) = self.paths.get_mut(path) else { return };
        let was_there = claims.remove(age);
        if claims.is_empty() {
            self.paths.remove(path);
        }
        if let Some(count) = self.claimants.get_mut(age).filter(|_| was_there) {
            *count -= 1;
            if *count == 0 {
                self.claimants.remove(age);
            }
        }
    }
}

impl Claims {
    pub(crate) fn add(&mut self, ingress: &Ingress) {
        let age = age(ingress);
        for (host, path) in paths(ingress) {
            self.hosts.entry(host).or_default().add(path, &age);
        }
    }

    pub(crate) fn remove(&mut self, ingress: &Ingress) {
        let age = age(ingress);
        for (host, path) in paths(ingress) {
            let Some(claims) = self.hosts.get_mut(&host) else { continue };
            claims.remove(&path, &age);
            if claims.paths.is_empty() {
                self.hosts.remove(&host);
            }
        }
    }

    /// The oldest Ingress that names a host.
    pub(crate) fn first_of(&self, host: &str) -> Option<&ObjectKey> {
        let ((_, Reverse(key)), _) = self.hosts.get(host)?.claimants.first_key_value()?;
        Some(key)
    }

    /// Who claims a path, the oldest first.
    pub(crate) fn of(&self, host: &str, path: &str) -> impl Iterator<Item = &ObjectKey> + use<'_> {
        let claims = self.hosts.get(host).and_then(|claims| claims.paths.get(path));
        claims.into_iter().flatten().map(|(_, Reverse(key))| key)
    }
}

/// Every path of an Ingress with its host, as they are compared. A host without a path stands with an empty one.
pub(crate) fn paths(ingress: &Ingress) -> impl Iterator<Item = (String, String)> {
    let rules = ingress.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
    rules.flat_map(|rule| {
        let host = rule.host.as_deref().unwrap_or_default().to_ascii_lowercase();
        let paths = rule.http.as_ref().map(|http| http.paths.as_slice()).unwrap_or_default();
        let named =
            paths.iter().map(|path| path.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/"));
        let bare = paths.is_empty().then_some("");
        named.chain(bare).map(|path| (host.clone(), path.to_owned())).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::sync::Arc;

    use super::*;
    use crate::Object;

    fn ingress(name: &str, created: &str, host: &str, path: &str) -> Ingress {
        let paths = json!([{"path": path, "backend": {"service": {"name": "a", "port": {"number": 80}}}}]);
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
        claims.of(host, path).map(|key| key.name.clone()).collect()
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
        let first = |claims: &Claims| claims.first_of("x.y").map(|key| key.name.clone());
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
        claims.add(&first);
        claims.remove(&first);
        assert!(claims.hosts.is_empty());
    }
}
