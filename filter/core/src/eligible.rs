//! Eligible endpoints: draining, ejection and zones in one list, so that a pick does not check each endpoint.
//!
//! ```text
//!   all --- not draining --- not ejected --- near ---> ready
//!    |          |               |              \-----> spare: far, for retries
//!    \-- none --/------ none ---/---- none: the set before it serves (each step fails open)
//! ```

use crate::endpoint_state::EndpointState;
use crate::outlier::Outlier;
use crate::{EndpointIdx, Endpoints, Timestamp};

/// The choice among the endpoints of one backend. Never empty when the backend is not.
#[derive(Debug, Default)]
pub struct EligibleEndpoints {
    ready: Vec<EndpointIdx>,
    spare: Vec<EndpointIdx>,
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
        eligible.exclude_ejected(states, outlier, now);
        let lasting = |idx: &EndpointIdx| {
            endpoints
                .traits(*idx)
                .is_some_and(|traits| !traits.draining)
        };
        let near = |idx: &EndpointIdx| endpoints.traits(*idx).is_some_and(|traits| traits.near);
        let alive = |idx: &EndpointIdx| eligible.is_alive(*idx);
        let all: Vec<EndpointIdx> = (0..endpoints.len()).collect();
        let lasting = or_all(all, lasting).0;
        let alive = or_all(lasting, alive).0;
        let (ready, spare) = or_all(alive, near);
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
            spare,
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
        if outlier.panics(self.alive.len() - self.ejected, self.alive.len()) {
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

    /// Those that take a retry when all that are ready were tried.
    #[must_use]
    pub fn spare(&self) -> &[EndpointIdx] {
        &self.spare
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

    /// True if it serves its own sessions: it is not ejected.
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

/// Those that fit and those that do not; when none fits, all do.
fn or_all(
    from: Vec<EndpointIdx>,
    fits: impl Fn(&EndpointIdx) -> bool,
) -> (Vec<EndpointIdx>, Vec<EndpointIdx>) {
    let (fitting, others): (Vec<_>, Vec<_>) = from.into_iter().partition(fits);
    if fitting.is_empty() {
        (others, fitting)
    } else {
        (fitting, others)
    }
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

    fn endpoints(describe: &[(u16, bool, &str)]) -> Endpoints {
        let one = |(n, &(weight, draining, zone)): (usize, &(u16, bool, &str))| wire::Endpoint {
            weight: weight.try_into().unwrap(),
            draining,
            zones: vec![zone.to_owned()],
            ..wire::Endpoint::at(format!("10.0.0.{}:80", n + 1))
        };
        let endpoints: Vec<_> = describe.iter().enumerate().map(one).collect();
        Endpoints::compile(&endpoints, Some("here")).unwrap()
    }

    fn ready(describe: &[(u16, bool, &str)], ejected: &[usize], panic_threshold: u8) -> Vec<usize> {
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
            .ready()
            .to_vec()
    }

    const HERE: (u16, bool, &str) = (1, false, "here");
    const THERE: (u16, bool, &str) = (1, false, "there");
    const DRAINING: (u16, bool, &str) = (1, true, "here");

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
    fn tickets_are_weights() {
        let endpoints = endpoints(&[(2, false, "here"), (1, false, "here")]);
        let eligible = EligibleEndpoints::new(&endpoints, &[], None, Timestamp::default());
        let drawn: Vec<_> = (0..eligible.total_weight())
            .filter_map(|token| eligible.at_weight(token))
            .collect();
        assert_eq!(drawn, [0, 0, 1]);
        assert_eq!(eligible.at_weight(3), None);
    }
}
