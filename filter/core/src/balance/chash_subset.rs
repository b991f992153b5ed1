//! Consistent hashing to a group of endpoints, by chance within it: less lopsided than one endpoint a key.
//!
//! As ingress-nginx's `chashsubset`: groups of `size` endpoints in the order of the configuration, the last filled up from
//! the start, on a ring of the names `set1`, `set2` ... Retries go to the other members first, where the original may
//! draw the failed one again.

use sluice_filter_config::LARGEST_SUBSET;

use crate::{EndpointIdx, Endpoints, Rng};

use super::ring::{Ring, hash};
use super::{Balancer, Candidates, Needs, PickContext, Setup};

/// The groups of one backend: those of its primaries, and those of its backups.
#[derive(Debug)]
pub struct ChashSubset {
    primaries: Groups,
    backups: Groups,
}

/// Groups of endpoints, and the ring of their names.
#[derive(Debug)]
struct Groups {
    members: Vec<EndpointIdx>,
    size: usize,
    ring: Ring,
}

impl ChashSubset {
    /// Groups the endpoints that get new requests.
    #[must_use]
    pub fn from_endpoints(endpoints: &Endpoints, size: usize) -> Self {
        let size = size.clamp(1, LARGEST_SUBSET.into());
        let all = || 0..endpoints.len();
        let lasting = |idx: &EndpointIdx| {
            endpoints
                .traits(*idx)
                .is_some_and(|traits| !traits.draining)
        };
        let is_backup =
            |idx: &EndpointIdx| endpoints.traits(*idx).is_some_and(|traits| traits.backup);
        let (mut backups, mut primaries): (Vec<EndpointIdx>, Vec<EndpointIdx>) =
            all().filter(lasting).partition(is_backup);
        if backups.is_empty() && primaries.is_empty() {
            (backups, primaries) = all().partition(is_backup);
        }
        ChashSubset {
            primaries: Groups::new(&primaries, endpoints, size),
            backups: Groups::new(&backups, endpoints, size),
        }
    }

    /// The groups of primaries, `set1` first.
    pub fn groups(&self) -> impl Iterator<Item = &[EndpointIdx]> {
        self.primaries.members.chunks(self.primaries.size)
    }

    /// The group of a key, from 0.
    #[must_use]
    pub fn group(&self, key: &[u8]) -> Option<usize> {
        self.primaries.ring.node(key)
    }
}

impl Groups {
    fn new(all: &[EndpointIdx], endpoints: &Endpoints, size: usize) -> Self {
        let groups = all.len().div_ceil(size);
        let members: Vec<EndpointIdx> = all.iter().cycle().take(groups * size).copied().collect();
        let names: Vec<String> = (1..=groups).map(|n| format!("set{n}")).collect();
        // Groups of equal size weigh what their members do; without weights that is the same for all.
        let weight = |group: &[EndpointIdx]| {
            group
                .iter()
                .map(|&idx| u32::from(endpoints.weight(idx)))
                .sum()
        };
        let weights = members.chunks(size).map(weight);
        let ring = Ring::new(names.iter().map(String::as_str).zip(weights));
        Groups {
            members,
            size,
            ring,
        }
    }

    /// Adds what is wanted and ready of the groups from the key's on.
    fn pick(
        &self,
        candidates: &mut Candidates,
        wanted: usize,
        context: &PickContext<'_>,
        rng: &mut impl Rng,
    ) {
        let mut last = None;
        for point in self.ring.walk(hash(context.key)) {
            if candidates.len() >= wanted {
                break;
            }
            if last.replace(point.node()) == Some(point.node()) {
                continue;
            }
            let group = self
                .members
                .chunks(self.size)
                .nth(point.node())
                .unwrap_or_default();
            while candidates.len() < wanted
                && let Some(idx) = Self::draw(group, context, candidates, rng)
            {
                candidates.push(idx);
            }
        }
    }

    /// A member by chance, by its share, that was not tried.
    fn draw(
        group: &[EndpointIdx],
        context: &PickContext<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<EndpointIdx> {
        let share = |idx| {
            if context.eligible.is_ready(idx) && !tried.has(idx) {
                context.share(idx)
            } else {
                0.0
            }
        };
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
    const NAME: &'static str = "chash_subset";
    const NEEDS: Needs = Needs {
        key: true,
        size: true,
        ..Needs::NOTHING
    };

    fn new(setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        ChashSubset::from_endpoints(setup.endpoints, setup.parameters.size.into())
    }

    fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates {
        let mut candidates = Candidates::default();
        let wanted = context
            .attempts
            .min(context.eligible.ready().len())
            .clamp(1, Candidates::MAX);
        for groups in [&self.primaries, &self.backups] {
            groups.pick(&mut candidates, wanted, context, rng);
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;
    use crate::testing::Fixture;

    fn groups(endpoints: usize) -> Vec<Vec<EndpointIdx>> {
        let subset = ChashSubset::from_endpoints(&Fixture::new(&vec![1; endpoints]).endpoints, 3);
        subset.groups().map(<[_]>::to_vec).collect()
    }

    #[test]
    fn groups_are_filled_up_from_the_beginning() {
        assert_eq!(groups(3), [[0, 1, 2]]);
        assert_eq!(groups(2), [[0, 1, 0]]);
        assert_eq!(groups(1), [[0, 0, 0]]);
        assert_eq!(groups(7), [[0, 1, 2], [3, 4, 5], [6, 0, 1]]);
    }

    /// Measured by running ingress-nginx 1.15.1's balancer; `set1` is group 0.
    #[test]
    fn keys_fall_on_the_groups_where_ingress_nginx_puts_them() {
        let subset = ChashSubset::from_endpoints(&Fixture::new(&[1; 7]).endpoints, 3);
        for (key, group) in [
            ("/index.html", 1),
            ("/alma/armud", 0),
            ("user-1", 2),
            ("10.1.2.3", 1),
            ("été", 0),
        ] {
            assert_eq!(subset.group(key.as_bytes()), Some(group), "{key}");
        }
    }

    #[test]
    fn all_picks_of_a_key_are_members_of_its_group_and_every_member_is_picked() {
        let picks = Fixture::new(&[1; 9]).picks(
            Algorithm::ChashSubset,
            (0..300).map(|_| "/alma/armud".to_owned()),
        );
        let mut hits = [0; 9];
        picks.iter().for_each(|picks| hits[picks[0]] += 1);
        let used: Vec<_> = hits
            .iter()
            .enumerate()
            .filter(|(_, hits)| **hits > 50)
            .map(|(idx, _)| idx / 3)
            .collect();
        assert!(used.len() == 3 && used[0] == used[2], "{hits:?}");
    }

    #[test]
    fn a_retry_does_not_draw_the_failed_member_again() {
        let fixture = Fixture {
            attempts: 4,
            ..Fixture::new(&[1; 9])
        };
        for picks in fixture.picks(Algorithm::ChashSubset, (0..200).map(|n| format!("{n}"))) {
            let mut group: Vec<_> = picks[..3].iter().map(|idx| idx / 3).collect();
            group.dedup();
            assert_eq!(group.len(), 1, "the group first: {picks:?}");
            assert!((1..4).all(|n| !picks[..n].contains(&picks[n])), "{picks:?}");
        }
    }

    #[test]
    fn a_group_of_ejected_endpoints_leaves_its_keys_to_the_next() {
        let hits = Fixture::new(&[1; 9])
            .without(&[3, 4, 5])
            .hits(Algorithm::ChashSubset, 3_000);
        assert_eq!(hits[3] + hits[4] + hits[5], 0);
        assert_eq!(hits.iter().sum::<usize>(), 3_000);
    }

    #[test]
    fn groups_get_keys_by_the_weight_of_their_members() {
        let hits = Fixture::new(&[3, 3, 3, 1, 1, 1]).hits(Algorithm::ChashSubset, 10_000);
        assert!(
            hits[..3].iter().all(|hits| (2_000..3_000).contains(hits)),
            "{hits:?}"
        );
        assert!(
            hits[3..].iter().all(|hits| (500..1_100).contains(hits)),
            "{hits:?}"
        );
    }
}
