//! Round robin: each endpoint in turn, as often as its weight says.
//!
//! As ingress-nginx's `resty.roundrobin`: every worker starts at a random endpoint, and again after every change of the
//! endpoints, so that workers and restarts do not all begin with the same pod.

use crate::{EndpointIdx, Rng};

use super::schedule::Schedule;
use super::{Balancer, Candidates, PickContext, Setup};

/// The position of one worker in the cycle, random at first.
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
    fn next(&mut self, context: &PickContext<'_>) -> Option<EndpointIdx> {
        let ready = context.eligible.ready();
        match self {
            RoundRobin::Cycle(next) => {
                let position = if *next < ready.len() { *next } else { 0 };
                *next = position + 1;
                ready.get(position).copied()
            }
            RoundRobin::Weighted(Weighted(schedule)) => schedule.next(context),
        }
    }
}

impl Balancer for RoundRobin {
    const NAME: &'static str = "round_robin";

    fn new(setup: &Setup<'_>, rng: &mut impl Rng) -> Self {
        let endpoints = setup.endpoints;
        if endpoints.is_weighted() || setup.slow_start.0.is_some() {
            let weights = (0..endpoints.len()).map(|idx| endpoints.weight(idx));
            return RoundRobin::Weighted(Weighted(Schedule::with_random_phase(weights, rng)));
        }
        RoundRobin::Cycle(rng.below(endpoints.len()))
    }

    fn pick(&mut self, context: &PickContext<'_>, _rng: &mut impl Rng) -> Candidates {
        let mut candidates = Candidates::default();
        if let Some(idx) = self
            .next(context)
            .or_else(|| context.eligible.ready().first().copied())
        {
            candidates.push(idx);
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Candidates};
    use super::*;
    use crate::testing::Fixture;

    fn picks(fixture: &Fixture, requests: usize) -> Vec<Vec<EndpointIdx>> {
        fixture.picks(Algorithm::RoundRobin, (0..requests).map(|_| String::new()))
    }

    #[test]
    fn six_hundred_requests_over_three_pods_are_two_hundred_each() {
        assert_eq!(
            Fixture::new(&[1; 3]).hits(Algorithm::RoundRobin, 600),
            [200; 3]
        );
    }

    #[test]
    fn retries_go_to_the_following_endpoints_and_do_not_move_the_cycle() {
        let picks = picks(
            &Fixture {
                attempts: 4,
                ..Fixture::new(&[1; 3])
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
                &Fixture {
                    attempts: 3,
                    ..Fixture::new(&[1])
                },
                1
            ),
            [[0]]
        );
    }

    #[test]
    fn attempts_beyond_the_maximum_are_cut() {
        let fixture = Fixture {
            attempts: 255,
            ..Fixture::new(&[1; 2])
        };
        assert_eq!(picks(&fixture, 1)[0].len(), Candidates::MAX);
    }

    #[test]
    fn weights_are_turns_and_turns_are_spread() {
        let fixture = Fixture::new(&[5, 1, 1]);
        assert_eq!(fixture.hits(Algorithm::RoundRobin, 700), [500, 100, 100]);
        let order: Vec<_> = picks(&Fixture::new(&[2, 1]), 30)
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
        let hits = Fixture::new(&[1; 3])
            .without(&[1])
            .hits(Algorithm::RoundRobin, 600);
        assert_eq!(hits, [300, 0, 300]);
        let hits = Fixture::new(&[2, 1, 1])
            .without(&[1])
            .hits(Algorithm::RoundRobin, 600);
        assert_eq!(hits, [400, 0, 200]);
    }
}
