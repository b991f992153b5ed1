//! What the filter knows: locations and backends at one version.

use std::collections::HashMap;
use std::fmt;

use sluice_filter_config::{self as wire, Version};

use crate::{Backend, InvalidBackend, Rng};

/// The compiled tables of one worker.
///
/// An update is compiled whole before anything of it takes effect: a document is applied or refused, never half.
#[derive(Debug, Default)]
pub struct Tables {
    version: Option<Version>,
    locations: HashMap<Box<str>, Box<str>>,
    backends: HashMap<Box<str>, Backend>,
    list: String,
}

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// Send it to the first of these endpoints, retries to the following: `ip:port,ip:port`.
    Forward(&'a str),
    /// Answer it here.
    Reply(Reply),
    /// Not a location or backend of these tables: leave it to the data plane, which has its own fallback.
    Unknown,
}

/// A response that the filter gives itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// A short plain text.
    pub body: &'static str,
}

impl Reply {
    /// The backend has no endpoint.
    pub const NO_ENDPOINTS: Reply = Reply { status: 503, body: "503 no endpoints available\n" };
}

/// Why a document was not applied. The tables are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A delta for other tables than these: ask for a snapshot.
    Base {
        /// What these tables are.
        have: Option<Version>,
        /// What the delta applies to.
        base: Version,
    },
    /// A backend that cannot be compiled.
    Backend {
        /// Its id.
        backend: String,
        /// What is wrong with it.
        cause: InvalidBackend,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Base { have: Some(have), base } => write!(f, "delta: base: expected {have}, got {base}"),
            Refused::Base { have: None, base } => {
                write!(f, "delta: base: expected a snapshot first, got {base}")
            }
            Refused::Backend { backend, cause } => write!(f, "backend {backend:?}: {cause}"),
        }
    }
}

impl Tables {
    /// The version of what is loaded; `None` until the first snapshot.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Takes a snapshot or a delta, whole or not at all.
    pub fn apply(&mut self, update: wire::Tables, rng: &mut impl Rng) -> Result<Version, Refused> {
        match update {
            wire::Tables::Snapshot(snapshot) => self.replace(snapshot, rng),
            wire::Tables::Delta(delta) => self.advance(delta, rng),
        }
    }

    fn replace(&mut self, snapshot: wire::Snapshot, rng: &mut impl Rng) -> Result<Version, Refused> {
        let compiled = compile(&snapshot.backends, rng)?;
        let mut predecessors = std::mem::take(&mut self.backends);
        for (id, mut backend) in compiled {
            if let Some(predecessor) = predecessors.remove(&id) {
                backend.succeed(predecessor);
            }
            self.backends.insert(id, backend);
        }
        self.locations = locations(snapshot.locations).collect();
        self.version = Some(snapshot.version);
        Ok(snapshot.version)
    }

    fn advance(&mut self, delta: wire::Delta, rng: &mut impl Rng) -> Result<Version, Refused> {
        if self.version != Some(delta.base) {
            return Err(Refused::Base { have: self.version, base: delta.base });
        }
        for (id, mut backend) in compile(&delta.backends, rng)? {
            if let Some(predecessor) = self.backends.remove(&id) {
                backend.succeed(predecessor);
            }
            self.backends.insert(id, backend);
        }
        self.locations.extend(locations(delta.locations));
        for id in &delta.removed_locations {
            self.locations.remove(id.as_str());
        }
        for id in &delta.removed_backends {
            self.backends.remove(id.as_str());
        }
        self.version = Some(delta.version);
        Ok(delta.version)
    }

    /// Decides one request by the location that the data plane matched. Allocates nothing.
    pub fn decide(&mut self, location: &str) -> Decision<'_> {
        let Some(backend) = self.locations.get(location).and_then(|id| self.backends.get_mut(id)) else {
            return Decision::Unknown;
        };
        if backend.candidates_into(&mut self.list) {
            Decision::Forward(&self.list)
        } else {
            Decision::Reply(Reply::NO_ENDPOINTS)
        }
    }
}

type Compiled = Vec<(Box<str>, Backend)>;

fn compile<'a>(
    backends: impl IntoIterator<Item = (&'a String, &'a wire::Backend)>,
    rng: &mut impl Rng,
) -> Result<Compiled, Refused> {
    let mut compiled = Vec::new();
    for (id, backend) in backends {
        let backend = Backend::compile(backend, rng)
            .map_err(|cause| Refused::Backend { backend: id.chars().take(200).collect(), cause })?;
        compiled.push((id.as_str().into(), backend));
    }
    Ok(compiled)
}

fn locations(
    locations: impl IntoIterator<Item = (String, wire::Location)>,
) -> impl Iterator<Item = (Box<str>, Box<str>)> {
    locations.into_iter().map(|(id, location)| (id.into(), location.backend.into()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;

    struct Zero;
    impl Rng for Zero {
        fn next_u64(&mut self) -> u64 {
            0
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
            locations: [("h/".to_owned(), wire::Location::to("n/s/80"))].into(),
            backends: [("n/s/80".to_owned(), backend(addresses))].into(),
        })
    }

    fn delta(base: u128, content: u128) -> wire::Delta {
        wire::Delta {
            base: Version::new(1, base),
            version: Version::new(2, content),
            locations: [].into(),
            backends: [].into(),
            removed_locations: vec![],
            removed_backends: vec![],
        }
    }

    fn loaded(addresses: &[&str]) -> Tables {
        let mut tables = Tables::default();
        tables.apply(snapshot(1, addresses), &mut Zero).unwrap();
        tables
    }

    #[test]
    fn a_location_leads_to_its_backends_endpoints_in_turn() {
        let mut tables = loaded(&["10.0.0.1:80", "10.0.0.2:80"]);
        assert_eq!(tables.decide("h/"), Decision::Forward("10.0.0.1:80,10.0.0.2:80"));
        assert_eq!(tables.decide("h/"), Decision::Forward("10.0.0.2:80,10.0.0.1:80"));
    }

    #[test]
    fn a_backend_without_endpoints_is_503_and_an_unknown_location_is_left_alone() {
        let mut tables = loaded(&[]);
        assert_eq!(tables.decide("h/"), Decision::Reply(Reply::NO_ENDPOINTS));
        assert_eq!(tables.decide("h/other"), Decision::Unknown);
    }

    #[test]
    fn a_delta_for_another_version_is_refused_and_changes_nothing() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let mut stranger = delta(9, 10);
        stranger.removed_backends = vec!["n/s/80".into()];
        let refused = tables.apply(wire::Tables::Delta(stranger), &mut Zero).unwrap_err();
        assert!(matches!(refused, Refused::Base { .. }), "{refused}");
        assert_eq!(tables.version(), Some(Version::new(1, 1)));
        assert_eq!(tables.decide("h/"), Decision::Forward("10.0.0.1:80"));
    }

    #[test]
    fn a_delta_replaces_adds_and_removes() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let mut change = delta(1, 2);
        change.backends = [("n/t/80".to_owned(), backend(&["10.0.0.9:80"]))].into();
        change.locations = [("h/t".to_owned(), wire::Location::to("n/t/80"))].into();
        change.removed_locations = vec!["h/".into()];
        change.removed_backends = vec!["n/s/80".into()];
        tables.apply(wire::Tables::Delta(change), &mut Zero).unwrap();
        assert_eq!(tables.decide("h/t"), Decision::Forward("10.0.0.9:80"));
        assert_eq!(tables.decide("h/"), Decision::Unknown);
    }

    #[test]
    fn one_bad_backend_refuses_the_document_and_keeps_the_last_good_one() {
        let mut tables = loaded(&["10.0.0.1:80"]);
        let refused = tables.apply(snapshot(2, &["nonsense"]), &mut Zero).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"backend "n/s/80": endpoint 0: address: expected ip:port, got "nonsense""#
        );
        assert_eq!(tables.decide("h/"), Decision::Forward("10.0.0.1:80"));
    }

    #[test]
    fn the_cycle_goes_on_when_a_snapshot_says_the_same() {
        let mut tables = loaded(&["10.0.0.1:80", "10.0.0.2:80"]);
        tables.decide("h/");
        tables.apply(snapshot(2, &["10.0.0.1:80", "10.0.0.2:80"]), &mut Zero).unwrap();
        assert_eq!(tables.decide("h/"), Decision::Forward("10.0.0.2:80,10.0.0.1:80"));
    }
}
