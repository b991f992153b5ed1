//! Least connections: the better of two by requests in flight, relative to their weight.
//!
//! ingress-nginx dropped nginx's `least_conn` with its Lua balancers; this is Envoy's least request, with two choices.

use crate::Rng;

use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Field};

/// The requests in flight are in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastConn;

impl Balancer for LeastConn {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(field, rng, |idx| {
            f64::from(field.in_flight(idx)) / field.share(idx)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoadBalance;
    use crate::testing::Ground;

    #[test]
    fn of_two_the_one_with_less_in_flight_is_taken() {
        let mut ground = Ground {
            attempts: 2,
            ..Ground::new(&[1; 2])
        };
        ground.vitals[0].in_flight = 5;
        ground.vitals[1].in_flight = 4;
        assert!(
            ground
                .picks(LoadBalance::LeastConn, (0..50).map(|_| String::new()))
                .iter()
                .all(|p| *p == [1, 0])
        );
    }

    #[test]
    fn requests_that_do_not_end_are_spread_by_weight() {
        let mut ground = Ground::new(&[1, 2, 1]);
        for n in 0..4_000 {
            let idx = ground.picks_from(n, LoadBalance::LeastConn);
            ground.vitals[idx].in_flight += 1;
        }
        let load: Vec<_> = ground
            .vitals
            .iter()
            .map(|vitals| vitals.in_flight)
            .collect();
        assert!(
            load[0].abs_diff(1_000) < 20 && load[1].abs_diff(2_000) < 40,
            "{load:?}"
        );
    }

    #[test]
    fn idle_endpoints_are_drawn_by_weight_and_none_starves() {
        let hits = Ground::new(&[1, 9]).hits(LoadBalance::LeastConn, 10_000);
        assert!((850..1_150).contains(&hits[0]), "{hits:?}");
        let hits = Ground::new(&[1; 100]).hits(LoadBalance::LeastConn, 10_000);
        assert!(hits.iter().all(|hits| (50..160).contains(hits)), "{hits:?}");
    }
}
