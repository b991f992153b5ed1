//! Round robin: each endpoint in turn, as often as its weight says.
//!
//! As ingress-nginx's `resty.roundrobin`: every worker starts at a random endpoint, and again after every change of the
//! endpoints, so that workers and restarts do not all begin with the same pod.

use crate::vitals::SlowStart;
use crate::{EndpointIdx, Endpoints, Rng};

use super::schedule::Schedule;
use super::{Balancer, Candidates, Field};

/// The position of one worker in the cycle.
#[derive(Debug)]
pub enum RoundRobin {
    /// All shares are equal: the next position.
    Cycle(usize),
    /// Shares differ, or grow.
    Weighted(Weighted),
}

/// The turns of endpoints with different shares.
#[derive(Debug)]
pub struct Weighted(Schedule);

impl RoundRobin {
    /// Starts at a random one of the endpoints.
    pub fn starting_anywhere(
        endpoints: &Endpoints,
        slow_start: SlowStart,
        rng: &mut impl Rng,
    ) -> Self {
        if endpoints.is_weighted() || slow_start.0.is_some() {
            let weights = (0..endpoints.len()).map(|idx| endpoints.weight(idx));
            return RoundRobin::Weighted(Weighted(Schedule::starting_anywhere(weights, rng)));
        }
        RoundRobin::Cycle(rng.below(endpoints.len()))
    }

    fn next(&mut self, field: &Field<'_>) -> Option<EndpointIdx> {
        let ready = field.pool.ready();
        match self {
            RoundRobin::Cycle(next) => {
                let position = if *next < ready.len() { *next } else { 0 };
                *next = position + 1;
                ready.get(position).copied()
            }
            RoundRobin::Weighted(Weighted(schedule)) => schedule.next(field),
        }
    }
}

impl Balancer for RoundRobin {
    fn candidates(&mut self, field: &Field<'_>, _rng: &mut impl Rng) -> Candidates {
        let mut candidates = Candidates::default();
        if let Some(idx) = self
            .next(field)
            .or_else(|| field.pool.ready().first().copied())
        {
            candidates.push(idx);
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Candidates, LoadBalance};
    use super::*;
    use crate::testing::Ground;

    fn picks(ground: &Ground, requests: usize) -> Vec<Vec<EndpointIdx>> {
        ground.picks(
            LoadBalance::RoundRobin,
            (0..requests).map(|_| String::new()),
        )
    }

    #[test]
    fn six_hundred_requests_over_three_pods_are_two_hundred_each() {
        assert_eq!(
            Ground::new(&[1; 3]).hits(LoadBalance::RoundRobin, 600),
            [200; 3]
        );
    }

    #[test]
    fn retries_go_to_the_following_endpoints_and_do_not_move_the_cycle() {
        let picks = picks(
            &Ground {
                attempts: 4,
                ..Ground::new(&[1; 3])
            },
            3,
        );
        let start = picks[0][0];
        for (n, picks) in picks.iter().enumerate() {
            let expected: Vec<_> = (0..4).map(|step| (start + n + step) % 3).collect();
            assert_eq!(*picks, expected);
        }
    }

    #[test]
    fn a_single_endpoint_is_named_once() {
        assert_eq!(
            picks(
                &Ground {
                    attempts: 3,
                    ..Ground::new(&[1])
                },
                1
            ),
            [[0]]
        );
    }

    #[test]
    fn attempts_beyond_the_maximum_are_cut() {
        let ground = Ground {
            attempts: 255,
            ..Ground::new(&[1; 2])
        };
        assert_eq!(picks(&ground, 1)[0].len(), Candidates::MAX);
    }

    #[test]
    fn weights_are_turns_and_turns_are_spread() {
        let ground = Ground::new(&[5, 1, 1]);
        assert_eq!(ground.hits(LoadBalance::RoundRobin, 700), [500, 100, 100]);
        let order: Vec<_> = picks(&Ground::new(&[2, 1]), 30)
            .into_iter()
            .map(|picks| picks[0])
            .collect();
        assert!(
            !order.windows(3).any(|run| run == [0; 3]),
            "two in a row, not three: {order:?}"
        );
    }

    #[test]
    fn an_ejected_endpoint_is_passed_over_and_its_turns_are_shared() {
        let hits = Ground::new(&[1; 3])
            .without(&[1])
            .hits(LoadBalance::RoundRobin, 600);
        assert_eq!(hits, [300, 0, 300]);
        let hits = Ground::new(&[2, 1, 1])
            .without(&[1])
            .hits(LoadBalance::RoundRobin, 600);
        assert_eq!(hits, [400, 0, 200]);
    }
}
