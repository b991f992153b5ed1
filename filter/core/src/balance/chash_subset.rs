//! Consistent hashing to a group of endpoints, by chance within it: less lopsided than one endpoint a key.
//!
//! As ingress-nginx's `chashsubset`: groups of `size` endpoints in the order of the configuration, the last filled up from
//! the beginning, on a ring of the names `set1`, `set2` ... Retries go to the other members first, where the original may
//! draw the failed one again.

use crate::{EndpointIdx, Endpoints, Rng};

use super::ring::{Ring, hash};
use super::{Balancer, Candidates, Field};

/// The groups of one backend.
#[derive(Debug)]
pub struct ChashSubset {
    members: Vec<EndpointIdx>,
    size: usize,
    ring: Ring,
}

impl ChashSubset {
    /// Groups the endpoints that get new requests.
    #[must_use]
    pub fn new(endpoints: &Endpoints, size: usize) -> Self {
        let size = size.max(1);
        let lasting = |idx: &EndpointIdx| endpoints.traits(*idx).is_some_and(|traits| !traits.draining);
        let mut all: Vec<EndpointIdx> = (0..endpoints.len()).filter(lasting).collect();
        if all.is_empty() {
            all = (0..endpoints.len()).collect();
        }
        let groups = all.len().div_ceil(size);
        let members: Vec<EndpointIdx> = all.iter().cycle().take(groups * size).copied().collect();
        let names: Vec<String> = (1..=groups).map(|n| format!("set{n}")).collect();
        let ring = Ring::new(names.iter().map(|name| (name.as_str(), 1)));
        ChashSubset { members, size, ring }
    }

    /// The groups, `set1` first.
    pub fn groups(&self) -> impl Iterator<Item = &[EndpointIdx]> {
        self.members.chunks(self.size)
    }

    /// The group of a key, from 0.
    #[must_use]
    pub fn group(&self, key: &[u8]) -> Option<usize> {
        self.ring.node(key)
    }

    /// A member by chance, by its share, that was not tried.
    fn draw(
        group: &[EndpointIdx],
        field: &Field<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<EndpointIdx> {
        let share = |idx| if field.pool.is_ready(idx) && !tried.has(idx) { field.share(idx) } else { 0.0 };
        let total: f64 = group.iter().map(|&idx| share(idx)).sum();
        let mut point = rng.fraction() * total;
        let mut drawn = None;
        for &idx in group.iter().filter(|&&idx| share(idx) > 0.0) {
            drawn = Some(idx);
            point -= share(idx);
            if point < 0.0 {
                break;
            }
        }
        drawn
    }
}

impl Balancer for ChashSubset {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        let mut candidates = Candidates::default();
        let wanted = field.attempts.min(field.pool.ready().len()).clamp(1, Candidates::MAX);
        let mut last = None;
        for point in self.ring.walk(hash(field.key)) {
            if last.replace(point.node()) == Some(point.node()) {
                continue;
            }
            let group = self.members.chunks(self.size).nth(point.node()).unwrap_or_default();
            while candidates.len() < wanted
                && let Some(idx) = Self::draw(group, field, &candidates, rng)
            {
                candidates.push(idx);
            }
            if candidates.len() >= wanted {
                break;
            }
        }
        candidates
    }
}
