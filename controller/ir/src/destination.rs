//! Backends of a route, by weight.

use serde::{Serialize, Serializer};

use crate::{BackendId, Filter, is_default};

/// Backends that share the requests of a route. There is one at least, and one has a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The first of those with the greatest weight comes first.
    backends: Vec<WeightedBackend>,
}

/// A backend and its share of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WeightedBackend {
    /// One of [`crate::Config::backends`].
    pub backend: BackendId,
    /// Its share is this over the sum of the weights.
    pub weight: u32,
    /// Filters for the requests that it takes, and for their responses; they come after those of the route.
    #[serde(skip_serializing_if = "is_default")]
    pub filters: Vec<Filter>,
}

impl From<BackendId> for Destination {
    fn from(backend: BackendId) -> Self {
        Destination {
            backends: vec![WeightedBackend {
                backend,
                weight: 1,
                filters: Vec::new(),
            }],
        }
    }
}

impl Destination {
    /// Several backends, each named once; `None` when no backend has a weight.
    #[must_use]
    pub fn weighted(mut backends: Vec<WeightedBackend>) -> Option<Self> {
        backends.retain(|backend| backend.weight > 0);
        let greatest = backends.iter().map(|backend| backend.weight).max()?;
        let first = backends
            .iter()
            .position(|backend| backend.weight == greatest)?;
        backends.swap(0, first);
        Some(Destination { backends })
    }

    /// The backend that takes what no other one takes: requests whose backend has no endpoint, and those of a data plane whose
    /// filter does not work.
    #[must_use]
    pub fn primary(&self) -> &BackendId {
        &self.backends[0].backend
    }

    /// Filters for the requests that a backend takes; none for one that takes them by another rule than a weight.
    #[must_use]
    pub fn filters(&self, backend: &BackendId) -> &[Filter] {
        let found = self.backends.iter().find(|it| it.backend == *backend);
        found.map_or(&[], |weighted| &weighted.filters)
    }

    /// All backends, the primary one first.
    #[must_use]
    pub fn backends(&self) -> &[WeightedBackend] {
        &self.backends
    }

    /// Backends beside the primary one.
    #[must_use]
    pub fn alternatives(&self) -> &[WeightedBackend] {
        &self.backends[1..]
    }
}

/// A backend alone is its id.
impl Serialize for Destination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.backends.as_slice() {
            [only] if only.filters.is_empty() => only.backend.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(service: &str, weight: u32) -> WeightedBackend {
        WeightedBackend {
            backend: BackendId::new(format!("n/{service}/80")),
            weight,
            filters: Vec::new(),
        }
    }

    #[test]
    fn the_primary_backend_has_the_greatest_weight() {
        let backends = vec![weighted("a", 0), weighted("b", 1), weighted("c", 3)];
        let destination = Destination::weighted(backends).unwrap();
        assert_eq!(destination.primary().as_str(), "n/c/80");
        assert_eq!(destination.alternatives(), [weighted("b", 1)]);
        assert_eq!(Destination::weighted(vec![weighted("a", 0)]), None);
    }
}
