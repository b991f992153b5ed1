//! Tables of the filter: routes and backends at one version.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sluice_filter_config::{self as wire, Version};

use crate::apply_error::ApplyError;
use crate::ejections::Ejections;
use crate::outcome::Serials;
use crate::policy::CompiledBackend;
use crate::route::Route;
use crate::{Backend, Rng, Timestamp};

/// Found by id, several times in each request: a fast hash. An attacker needs a Service for each collision.
pub(crate) type ById<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The compiled tables of one worker.
///
/// An update is compiled whole before anything of it takes effect: a document is applied or refused, never half.
#[derive(Debug, Default)]
pub struct Tables {
    version: Option<Version>,
    zone: Option<String>,
    serials: Serials,
    algorithm_changes: Vec<AlgorithmChange>,
    pub(crate) routes: ById<Box<str>, Route>,
    pub(crate) backends: ById<Rc<str>, Backend>,
    known_hosts: HashSet<Box<str>, foldhash::fast::RandomState>,
    pub(crate) list: String,
    pub(crate) key: Vec<u8>,
    pub(crate) ejections: Ejections,
}

/// A backend that chooses in another way than before; what its algorithm remembered is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgorithmChange {
    /// The id of the backend.
    pub backend: Rc<str>,
    /// The algorithm of before.
    pub from: &'static str,
    /// The algorithm of now.
    pub to: &'static str,
}

impl Tables {
    /// The version of what is loaded; `None` until the first snapshot.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Says where the data plane runs. `true` when that is news to backends that are compiled already: they know it with
    /// the next snapshot.
    pub fn set_zone(&mut self, zone: Option<String>) -> bool {
        let changed = self.zone != zone;
        self.zone = zone;
        changed && self.version.is_some()
    }

    /// True if an Ingress names this host exactly, as far as the data plane reported. In lower case.
    #[must_use]
    pub fn is_host(&self, name: &str) -> bool {
        self.known_hosts.contains(name)
    }

    /// The backends that chose in another way before the last updates, once.
    pub fn take_algorithm_changes(&mut self) -> Vec<AlgorithmChange> {
        std::mem::take(&mut self.algorithm_changes)
    }

    /// True if endpoints were ejected of which [`Tables::take_ejections`] has not told.
    #[must_use]
    pub fn has_ejections(&self) -> bool {
        !self.ejections.is_empty()
    }

    /// Endpoints that are ejected, each once, with the seconds that are left: `ip:port 30,ip:port 30`.
    pub fn take_ejections(&mut self, now: Timestamp) -> String {
        self.ejections.take(now)
    }

    /// The error by which [`Tables::apply`] would refuse the backends of an update, if it would.
    pub fn check(&self, update: &wire::Tables) -> Result<(), ApplyError> {
        let backends = match update {
            wire::Tables::Snapshot(snapshot) => &snapshot.backends,
            wire::Tables::Delta(delta) => &delta.backends,
        };
        self.compile(backends).map(|_| ())
    }

    /// Takes a snapshot or a delta, whole or not at all.
    pub fn apply(
        &mut self,
        update: wire::Tables,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Result<Version, ApplyError> {
        match update {
            wire::Tables::Snapshot(snapshot) => self.replace(snapshot, now, rng),
            wire::Tables::Delta(delta) => self.advance(delta, now, rng),
        }
    }

    fn replace(
        &mut self,
        snapshot: wire::Snapshot,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Result<Version, ApplyError> {
        let compiled = self.compile(&snapshot.backends)?;
        let mut predecessors = std::mem::take(&mut self.backends);
        for (id, compiled) in compiled {
            let predecessor = predecessors.remove(&*id);
            self.install(id, compiled, predecessor, now, rng);
        }
        self.routes = routes(snapshot.routes).collect();
        self.known_hosts = snapshot
            .hosts
            .into_iter()
            .map(String::into_boxed_str)
            .collect();
        self.version = Some(snapshot.version);
        Ok(snapshot.version)
    }

    fn advance(
        &mut self,
        delta: wire::Delta,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Result<Version, ApplyError> {
        if self.version != Some(delta.base) {
            return Err(ApplyError::Base {
                have: self.version,
                base: delta.base,
            });
        }
        for (id, compiled) in self.compile(&delta.backends)? {
            let predecessor = self.backends.remove(&*id);
            self.install(id, compiled, predecessor, now, rng);
        }
        self.routes.extend(routes(delta.routes));
        self.known_hosts
            .extend(delta.hosts.into_iter().map(String::into_boxed_str));
        for host in &delta.removed_hosts {
            self.known_hosts.remove(host.as_str());
        }
        for id in &delta.removed_routes {
            self.routes.remove(id.as_str());
        }
        for id in &delta.removed_backends {
            self.backends.remove(id.as_str());
        }
        self.version = Some(delta.version);
        Ok(delta.version)
    }

    fn install(
        &mut self,
        id: Rc<str>,
        compiled: CompiledBackend,
        predecessor: Option<Backend>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) {
        let (from, to) = (
            predecessor.as_ref().map(Backend::algorithm),
            compiled.policy.algorithm(),
        );
        if let Some(from) = from.filter(|from| *from != to) {
            self.algorithm_changes.push(AlgorithmChange {
                backend: Rc::clone(&id),
                from,
                to,
            });
        }
        let backend = Backend::new(compiled, predecessor, &mut self.serials, now, rng);
        self.backends.insert(id, backend);
    }

    fn compile<'a>(
        &self,
        backends: impl IntoIterator<Item = (&'a String, &'a wire::Backend)>,
    ) -> Result<Vec<(Rc<str>, CompiledBackend)>, ApplyError> {
        let compile = |(id, backend): (&String, &wire::Backend)| {
            let compiled = CompiledBackend::compile(backend, self.zone.as_deref());
            let refused = |cause| ApplyError::Backend {
                backend: id.chars().take(200).collect(),
                cause,
            };
            Ok((id.as_str().into(), compiled.map_err(refused)?))
        };
        backends.into_iter().map(compile).collect()
    }
}

fn routes(
    routes: impl IntoIterator<Item = (String, wire::Route)>,
) -> impl Iterator<Item = (Box<str>, Route)> {
    routes
        .into_iter()
        .map(|(id, route)| (id.into(), route.into()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;
    use crate::testing::{FakeRequest, ZeroRng};
    use crate::{Decision, Forward, Reply};

    const NOW: Timestamp = Timestamp::from_nanos(1);

    /// Candidates, or what else became of the request.
    fn decide(tables: &mut Tables, route: &str) -> String {
        match tables.decide(route, &FakeRequest::default(), NOW, &mut ZeroRng) {
            Decision::Forward(Forward { candidates, .. }) => candidates.to_owned(),
            Decision::Reply(Reply { status, .. }) => status.to_string(),
            Decision::Unknown => "unknown".to_owned(),
            Decision::CheckLimits(_) => "limited".to_owned(),
            Decision::External { .. } => "external".to_owned(),
        }
    }

    fn backend(addresses: &[&str]) -> wire::Backend {
        let endpoints = addresses.iter().map(|a| wire::Endpoint::at(*a)).collect();
        wire::Backend {
            attempts: NonZeroU8::new(2).unwrap(),
            ..wire::Backend::round_robin("n-s-80", endpoints)
        }
    }

    fn snapshot(content: u128, addresses: &[&str]) -> wire::Tables {
        wire::Tables::Snapshot(wire::Snapshot {
            version: Version::new(1, content),
            routes: [("h/".to_owned(), wire::Route::to("n/s/80"))].into(),
            backends: [("n/s/80".to_owned(), backend(addresses))].into(),
            hosts: [].into(),
        })
    }

    fn delta(base: u128, content: u128) -> wire::Delta {
        wire::Delta::between(Version::new(1, base), Version::new(2, content))
    }

    fn loaded(addresses: &[&str]) -> Tables {
        let mut tables = Tables::default();
        tables
            .apply(snapshot(1, addresses), NOW, &mut ZeroRng)
            .unwrap();
        tables
    }

    #[test]
    fn a_route_leads_to_its_backends_endpoints_in_turn() {
        let mut tables = loaded(&["10.0.0.1:80", "10.0.0.2:80"]);
        assert_eq!(decide(&mut tables, "h/"), "10.0.0.1:80,10.0.0.2:80");
        assert_eq!(decide(&mut tables, "h/"), "10.0.0.2:80,10.0.0.1:80");
    }

    #[test]
    fn a_backend_without_endpoints_is_503_and_an_unknown_route_is_left_alone() {
        let mut tables = loaded(&[]);
        assert_eq!(decide(&mut tables, "h/"), "503");
        assert_eq!(decide(&mut tables, "h/other"), "unknown");
    }

    #[test]
    fn a_limited_route_is_decided_once_the_request_is_counted() {
        let mut tables = Tables::default();
        let mut limited = wire::Route::to("n/s/80");
        limited.connections = Some(wire::Connections {
            zone: "n/i".to_owned(),
            most: 1.try_into().unwrap(),
            status: 503,
            exempt: Vec::new(),
        });
        let wire::Tables::Snapshot(mut limits) = snapshot(1, &["10.0.0.1:80", "10.0.0.2:80"])
        else {
            unreachable!()
        };
        limits.routes = [("h/".to_owned(), limited)].into();
        tables
            .apply(wire::Tables::Snapshot(limits), NOW, &mut ZeroRng)
            .unwrap();
        assert_eq!(decide(&mut tables, "h/"), "limited");
        let decision = tables.decide_admitted("h/", &FakeRequest::default(), NOW, &mut ZeroRng);
        let Decision::Forward(forward) = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(
            forward.candidates, "10.0.0.1:80,10.0.0.2:80",
            "a refused request takes no turn"
        );
    }

    #[test]
    fn a_delta_for_another_version_is_refused_and_changes_nothing() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let mut stranger = delta(9, 10);
        stranger.removed_backends = vec!["n/s/80".into()];
        let refused = tables
            .apply(wire::Tables::Delta(stranger), NOW, &mut ZeroRng)
            .unwrap_err();
        assert!(matches!(refused, ApplyError::Base { .. }), "{refused}");
        assert_eq!(tables.version(), Some(Version::new(1, 1)));
        assert_eq!(decide(&mut tables, "h/"), "10.0.0.1:80");
    }

    #[test]
    fn a_delta_replaces_adds_and_removes() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let mut change = delta(1, 2);
        change.backends = [("n/t/80".to_owned(), backend(&["10.0.0.9:80"]))].into();
        change.routes = [("h/t".to_owned(), wire::Route::to("n/t/80"))].into();
        change.removed_routes = vec!["h/".into()];
        change.removed_backends = vec!["n/s/80".into()];
        tables
            .apply(wire::Tables::Delta(change), NOW, &mut ZeroRng)
            .unwrap();
        assert_eq!(decide(&mut tables, "h/t"), "10.0.0.9:80");
        assert_eq!(decide(&mut tables, "h/"), "unknown");
    }

    #[test]
    fn one_bad_backend_refuses_the_document_and_keeps_the_last_good_one() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let refused = tables
            .apply(snapshot(2, &["nonsense"]), NOW, &mut ZeroRng)
            .unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"backend "n/s/80": endpoint 0: address: expected ip:port, got "nonsense""#
        );
        assert_eq!(decide(&mut tables, "h/"), "10.0.0.1:80");
    }

    #[test]
    fn the_cycle_goes_on_when_a_snapshot_says_the_same() {
        let mut tables = loaded(&["10.0.0.1:80", "10.0.0.2:80"]);
        decide(&mut tables, "h/");
        tables
            .apply(
                snapshot(2, &["10.0.0.1:80", "10.0.0.2:80"]),
                NOW,
                &mut ZeroRng,
            )
            .unwrap();
        assert_eq!(decide(&mut tables, "h/"), "10.0.0.2:80,10.0.0.1:80");
    }

    #[test]
    fn a_change_of_the_algorithm_is_told_once_and_a_change_of_endpoints_is_none() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        assert_eq!(tables.take_algorithm_changes(), []);
        tables
            .apply(snapshot(2, &["10.0.0.2:80"]), NOW, &mut ZeroRng)
            .unwrap();
        assert_eq!(tables.take_algorithm_changes(), []);
        let mut change = delta(2, 3);
        let ewma = wire::Backend {
            load_balance: wire::LoadBalance::named("ewma"),
            ..backend(&["10.0.0.2:80"])
        };
        change.backends = [("n/s/80".to_owned(), ewma)].into();
        tables
            .apply(wire::Tables::Delta(change), NOW, &mut ZeroRng)
            .unwrap();
        assert_eq!(
            tables.take_algorithm_changes(),
            [AlgorithmChange {
                backend: "n/s/80".into(),
                from: "round_robin",
                to: "ewma"
            }]
        );
        assert_eq!(tables.take_algorithm_changes(), []);
    }
}
