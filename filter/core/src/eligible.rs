//! Eligible endpoints: draining, health, ejection, backups and zones in one list, so that a pick does not check each endpoint.
//!
//! ```text
//!   all --- not draining --- healthy, not ejected --- near primaries, far primaries, near backups, far backups
//!    |          |                   |               first of these with any: ready; others: spare, for retries
//!    \-- none --/------ none -------/   the set before it serves (each step fails open)
//! ```

use std::collections::BTreeMap;

use crate::endpoint_state::EndpointState;
use crate::outlier::Outlier;
use crate::{EndpointIdx, Endpoints, Timestamp};

/// The choice among the endpoints of one backend. Never empty when the backend is not.
#[derive(Debug, Default)]
pub struct EligibleEndpoints {
    ready: Vec<EndpointIdx>,
    spare: Vec<Vec<EndpointIdx>>,
    waiting: Vec<bool>,
    position: Vec<Option<usize>>,
    alive: Vec<bool>,
    cumulative: Vec<u64>,
    ejected: usize,
    next_change: Option<Timestamp>,
    computed_at: Timestamp,
}

impl EligibleEndpoints {
    /// Looks at everything: after the endpoints changed, and when one is ejected or comes back.
    #[must_use]
    pub fn new(
        endpoints: &Endpoints,
        states: &[EndpointState],
        outlier: Option<&Outlier>,
        now: Timestamp,
    ) -> Self {
        let mut eligible = EligibleEndpoints {
            alive: vec![true; endpoints.len()],
            computed_at: now,
            ..EligibleEndpoints::default()
        };
        let unhealthy =
            |idx: EndpointIdx| endpoints.traits(idx).is_some_and(|traits| traits.unhealthy);
        for (idx, alive) in eligible.alive.iter_mut().enumerate() {
            *alive = !unhealthy(idx);
        }
        eligible.exclude_ejected(states, outlier, now);
        let lasting = |idx: &EndpointIdx| {
            endpoints
                .traits(*idx)
                .is_some_and(|traits| !traits.draining)
        };
        let alive = |idx: &EndpointIdx| eligible.is_alive(*idx);
        let all: Vec<EndpointIdx> = (0..endpoints.len()).collect();
        let mut ranks = ranks(endpoints, &or_all(or_all(all, lasting), alive));
        let (first, ready) = ranks.pop_first().unwrap_or_default();
        eligible.waiting = vec![false; endpoints.len()];
        for (idx, waiting) in eligible.waiting.iter_mut().enumerate() {
            *waiting = !first.backup && rank(endpoints, idx).backup;
        }
        eligible.position = vec![None; endpoints.len()];
        for (position, &idx) in ready.iter().enumerate() {
            if let Some(slot) = eligible.position.get_mut(idx) {
                *slot = Some(position);
            }
        }
        if endpoints.is_weighted() {
            eligible.cumulative = cumulative(endpoints, &ready);
        }
        EligibleEndpoints {
            ready,
            spare: ranks.into_values().collect(),
            ..eligible
        }
    }

    fn exclude_ejected(
        &mut self,
        states: &[EndpointState],
        outlier: Option<&Outlier>,
        now: Timestamp,
    ) {
        let Some(outlier) = outlier else { return };
        for (alive, state) in self.alive.iter_mut().zip(states) {
            if state.record.is_ejected(now) {
                *alive = false;
                self.ejected += 1;
                let back = state.record.ejected_until();
                self.next_change = Some(self.next_change.map_or(back, |next| next.min(back)));
            }
        }
        let alive = self.alive.iter().filter(|alive| **alive).count();
        if outlier.panics(alive, self.alive.len()) {
            self.alive.fill(true);
        }
    }

    /// True if the list must be rebuilt because an ejection ends.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.next_change.is_some_and(|next| now >= next)
    }

    /// When it was made.
    #[must_use]
    pub fn computed_at(&self) -> Timestamp {
        self.computed_at
    }

    /// Those that get new requests.
    #[must_use]
    pub fn ready(&self) -> &[EndpointIdx] {
        &self.ready
    }

    /// Those that take a retry when all that are ready were tried, one rank after the other.
    pub fn spare(&self) -> impl Iterator<Item = &[EndpointIdx]> {
        self.spare.iter().map(Vec::as_slice)
    }

    /// True if it is a backup of endpoints that get the requests.
    #[must_use]
    pub fn is_waiting(&self, idx: EndpointIdx) -> bool {
        self.waiting.get(idx).copied().unwrap_or(false)
    }

    /// Position of an endpoint in [`EligibleEndpoints::ready`].
    #[must_use]
    pub fn position(&self, idx: EndpointIdx) -> Option<usize> {
        self.position.get(idx).copied().flatten()
    }

    /// True if it gets new requests.
    #[must_use]
    pub fn is_ready(&self, idx: EndpointIdx) -> bool {
        self.position(idx).is_some()
    }

    /// True if it serves its own sessions: it is healthy and not ejected.
    #[must_use]
    pub fn is_alive(&self, idx: EndpointIdx) -> bool {
        self.alive.get(idx).copied().unwrap_or(false)
    }

    /// How many are ejected, in panic too.
    #[must_use]
    pub fn ejected(&self) -> usize {
        self.ejected
    }

    /// The one that a number below [`EligibleEndpoints::total_weight`] falls on: as many tickets as weight.
    #[must_use]
    pub fn at_weight(&self, token: usize) -> Option<EndpointIdx> {
        if self.cumulative.is_empty() {
            return self.ready.get(token).copied();
        }
        let position = self
            .cumulative
            .partition_point(|&upper| upper <= token as u64);
        self.ready.get(position).copied()
    }

    /// How many tickets [`EligibleEndpoints::at_weight`] has.
    #[must_use]
    pub fn total_weight(&self) -> usize {
        let weights = self
            .cumulative
            .last()
            .map(|&total| usize::try_from(total).unwrap_or(usize::MAX));
        weights.unwrap_or(self.ready.len())
    }
}

/// Rank of an endpoint: of those that may be chosen, the lowest rank serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    backup: bool,
    far: bool,
}

fn rank(endpoints: &Endpoints, idx: EndpointIdx) -> Rank {
    let traits = endpoints.traits(idx);
    traits.map_or_else(Rank::default, |traits| Rank {
        backup: traits.backup,
        far: !traits.near,
    })
}

fn ranks(endpoints: &Endpoints, of: &[EndpointIdx]) -> BTreeMap<Rank, Vec<EndpointIdx>> {
    let mut ranks: BTreeMap<Rank, Vec<EndpointIdx>> = BTreeMap::new();
    for &idx in of {
        ranks.entry(rank(endpoints, idx)).or_default().push(idx);
    }
    ranks
}

/// Those that fit; when none fits, all.
fn or_all(from: Vec<EndpointIdx>, fits: impl Fn(&EndpointIdx) -> bool) -> Vec<EndpointIdx> {
    let (fitting, others): (Vec<_>, Vec<_>) = from.into_iter().partition(fits);
    if fitting.is_empty() { others } else { fitting }
}

fn cumulative(endpoints: &Endpoints, ready: &[EndpointIdx]) -> Vec<u64> {
    let weights = ready.iter().map(|&idx| u64::from(endpoints.weight(idx)));
    weights
        .scan(0, |total, weight| {
            *total += weight;
            Some(*total)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluice_filter_config as wire;

    use super::*;

    /// Weight, zone, draining, backup. A weight of [`FAILS`] is that of an unhealthy one.
    type Described = (u16, &'static str, bool, bool);

    const FAILS: u16 = 9;

    fn endpoints(describe: &[Described]) -> Endpoints {
        let one = |(n, &(weight, zone, draining, backup)): (usize, &Described)| wire::Endpoint {
            weight: weight.try_into().unwrap(),
            zones: vec![zone.to_owned()],
            draining,
            backup,
            unhealthy: weight == FAILS,
            ..wire::Endpoint::at(format!("10.0.0.{}:80", n + 1))
        };
        let endpoints: Vec<_> = describe.iter().enumerate().map(one).collect();
        Endpoints::compile(&endpoints, Some("here")).unwrap()
    }

    fn eligible(
        describe: &[Described],
        ejected: &[usize],
        panic_threshold: u8,
    ) -> EligibleEndpoints {
        let endpoints = endpoints(describe);
        let base = Duration::from_secs(10);
        let outlier = Outlier {
            consecutive: 1,
            base,
            max_ejected: 100,
            panic_threshold,
        };
        let mut states = vec![EndpointState::default(); endpoints.len()];
        for &idx in ejected {
            states[idx].record.eject(&outlier, Timestamp::default());
        }
        EligibleEndpoints::new(&endpoints, &states, Some(&outlier), Timestamp::default())
    }

    fn ready(describe: &[Described], ejected: &[usize], panic_threshold: u8) -> Vec<usize> {
        let eligible = eligible(describe, ejected, panic_threshold);
        eligible.ready().to_vec()
    }

    const HERE: Described = (1, "here", false, false);
    const THERE: Described = (1, "there", false, false);
    const DRAINING: Described = (1, "here", true, false);
    const BACKUP: Described = (1, "here", false, true);
    const FAR_BACKUP: Described = (1, "there", false, true);
    const SICK: Described = (FAILS, "here", false, false);
    const SICK_BACKUP: Described = (FAILS, "here", false, true);

    #[test]
    fn draining_ejected_and_far_ones_get_nothing_new() {
        assert_eq!(ready(&[HERE, DRAINING, THERE, HERE], &[3], 0), [0]);
    }

    #[test]
    fn every_rule_fails_open() {
        assert_eq!(
            ready(&[THERE, THERE], &[], 0),
            [0, 1],
            "no endpoint is near"
        );
        assert_eq!(
            ready(&[DRAINING, DRAINING], &[], 0),
            [0, 1],
            "all are draining"
        );
        assert_eq!(ready(&[HERE, HERE], &[0, 1], 0), [0, 1], "all are ejected");
        assert_eq!(
            ready(&[HERE, THERE], &[0], 0),
            [1],
            "the near one is ejected"
        );
        assert_eq!(ready(&[HERE, HERE, HERE], &[0, 1], 50), [0, 1, 2], "panic");
    }

    #[test]
    fn backups_serve_when_no_primary_may_be_chosen() {
        for (describe, ejected, expected, why) in [
            (&[BACKUP, HERE, BACKUP][..], &[][..], &[1][..], "a primary"),
            (&[BACKUP, THERE], &[], &[1], "a far primary"),
            (&[BACKUP, HERE, BACKUP], &[1], &[0, 2], "all are ejected"),
            (&[BACKUP, DRAINING], &[], &[0], "all are draining"),
            (&[BACKUP, FAR_BACKUP], &[], &[0], "no primary, a near one"),
            (&[FAR_BACKUP], &[], &[0], "no primary, a far one"),
            (&[BACKUP, HERE], &[0, 1], &[1], "nothing is left"),
            (&[BACKUP, HERE, HERE], &[1], &[2], "one is ejected"),
        ] {
            assert_eq!(ready(describe, ejected, 0), expected, "{why}");
        }
    }

    #[test]
    fn unhealthy_endpoints_are_left_out_until_there_is_no_other() {
        for (describe, ejected, panic_threshold, expected, why) in [
            (
                &[SICK, HERE, SICK][..],
                &[][..],
                0,
                &[1][..],
                "a healthy one",
            ),
            (&[SICK, THERE], &[], 0, &[1], "a far one"),
            (&[SICK, BACKUP], &[], 0, &[1], "a backup"),
            (&[SICK, SICK_BACKUP], &[], 0, &[0], "nobody is healthy"),
            (
                &[SICK, HERE],
                &[1],
                0,
                &[0, 1],
                "the healthy one is ejected",
            ),
            (&[SICK, HERE, HERE], &[1], 0, &[2], "one of each"),
            (&[SICK, SICK, HERE], &[], 50, &[0, 1, 2], "panic"),
        ] {
            assert_eq!(ready(describe, ejected, panic_threshold), expected, "{why}");
        }
        let eligible = eligible(&[SICK, HERE, SICK], &[], 0);
        assert_eq!(eligible.spare().count(), 0, "nor for retries");
        assert!(!eligible.is_alive(0) && eligible.is_alive(1));
    }

    #[test]
    fn retries_go_to_far_primaries_before_backups() {
        let eligible = eligible(&[FAR_BACKUP, BACKUP, THERE, HERE, BACKUP, HERE], &[5], 0);
        let spare: Vec<_> = eligible.spare().collect();
        assert_eq!(eligible.ready(), [3]);
        assert_eq!(spare, [&[2][..], &[1, 4], &[0]]);
    }

    #[test]
    fn backups_wait_as_long_as_primaries_are_chosen() {
        let waiting = |describe: &[Described], ejected: &[usize]| {
            let eligible = eligible(describe, ejected, 0);
            (0..describe.len())
                .filter(|&idx| eligible.is_waiting(idx))
                .collect::<Vec<_>>()
        };
        assert_eq!(waiting(&[BACKUP, HERE, FAR_BACKUP], &[]), [0, 2]);
        assert_eq!(waiting(&[BACKUP, HERE, FAR_BACKUP], &[1]), [0; 0]);
        assert_eq!(waiting(&[BACKUP, DRAINING], &[]), [0; 0]);
    }

    #[test]
    fn tickets_are_weights() {
        let endpoints = endpoints(&[(2, "here", false, false), HERE]);
        let eligible = EligibleEndpoints::new(&endpoints, &[], None, Timestamp::default());
        let drawn: Vec<_> = (0..eligible.total_weight())
            .filter_map(|token| eligible.at_weight(token))
            .collect();
        assert_eq!(drawn, [0, 0, 1]);
        assert_eq!(eligible.at_weight(3), None);
    }
}
