//! Round robin: each endpoint in turn.
//!
//! As ingress-nginx's `resty.roundrobin` with equal weights: every worker starts at a random endpoint, and again
//! after every change of the endpoints, so that workers and restarts do not all begin with the same pod.

use crate::{EndpointIdx, Rng};

use super::{Balancer, Candidates};

/// The position of one worker in the cycle.
#[derive(Debug)]
pub struct RoundRobin {
    next: EndpointIdx,
}

impl RoundRobin {
    /// Starts at a random one of `endpoints`.
    pub fn starting_anywhere(endpoints: usize, rng: &mut impl Rng) -> Self {
        RoundRobin { next: rng.below(endpoints) }
    }
}

impl Balancer for RoundRobin {
    fn candidates(&mut self, endpoints: usize, attempts: usize) -> Candidates {
        debug_assert!(endpoints > 0, "a backend without endpoints is answered before");
        let first = if self.next < endpoints { self.next } else { 0 };
        self.next = first + 1;
        let mut candidates = Candidates::default();
        let mut idx = first;
        // One endpoint has nowhere else to go: naming it again would only make the header longer.
        for _ in 0..if endpoints == 1 { 1 } else { attempts } {
            candidates.push(idx);
            idx = if idx + 1 < endpoints { idx + 1 } else { 0 };
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Zero;
    impl Rng for Zero {
        fn next_u64(&mut self) -> u64 {
            0
        }
    }

    fn picks(balancer: &mut RoundRobin, endpoints: usize, attempts: usize) -> Vec<EndpointIdx> {
        balancer.candidates(endpoints, attempts).iter().collect()
    }

    #[test]
    fn six_hundred_requests_over_three_pods_are_two_hundred_each() {
        let mut balancer = RoundRobin::starting_anywhere(3, &mut Zero);
        let mut hits = [0; 3];
        for _ in 0..600 {
            hits[picks(&mut balancer, 3, 3)[0]] += 1;
        }
        assert_eq!(hits, [200; 3]);
    }

    #[test]
    fn retries_go_to_the_following_endpoints_and_do_not_move_the_cycle() {
        let mut balancer = RoundRobin::starting_anywhere(3, &mut Zero);
        assert_eq!(picks(&mut balancer, 3, 3), [0, 1, 2]);
        assert_eq!(picks(&mut balancer, 3, 2), [1, 2]);
        assert_eq!(picks(&mut balancer, 3, 4), [2, 0, 1, 2]);
    }

    #[test]
    fn a_single_endpoint_is_named_once() {
        let mut balancer = RoundRobin::starting_anywhere(1, &mut Zero);
        assert_eq!(picks(&mut balancer, 1, 3), [0]);
    }

    #[test]
    fn attempts_beyond_the_maximum_are_cut() {
        let mut balancer = RoundRobin::starting_anywhere(2, &mut Zero);
        assert_eq!(picks(&mut balancer, 2, 255).len(), Candidates::MAX);
    }
}
