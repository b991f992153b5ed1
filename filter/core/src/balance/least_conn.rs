//! Least connections: the better of two by requests in flight, relative to their weight.
//!
//! ingress-nginx dropped nginx's `least_conn` with its Lua balancers; this is Envoy's least request, with two choices.

use crate::Rng;

use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Needs, PickContext, Setup};

/// Stateless: the requests in flight are in the [`PickContext`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastConn;

impl Balancer for LeastConn {
    const NAME: &'static str = "least_conn";
    const NEEDS: Needs = Needs {
        in_flight: true,
        ..Needs::NOTHING
    };

    fn new(_setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        LeastConn
    }

    fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(context, rng, |idx| {
            f64::from(context.in_flight(idx)) / context.share(idx)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use crate::testing::Fixture;

    #[test]
    fn of_two_the_one_with_less_in_flight_is_taken() {
        let mut fixture = Fixture {
            attempts: 2,
            ..Fixture::new(&[1; 2])
        };
        fixture.states[0].in_flight = 5;
        fixture.states[1].in_flight = 4;
        assert!(
            fixture
                .picks(Algorithm::LeastConn, (0..50).map(|_| String::new()))
                .iter()
                .all(|p| *p == [1, 0])
        );
    }

    #[test]
    fn requests_that_do_not_end_are_spread_by_weight() {
        let mut fixture = Fixture::new(&[1, 2, 1]);
        for n in 0..4_000 {
            let idx = fixture.picks_from(n, Algorithm::LeastConn);
            fixture.states[idx].in_flight += 1;
        }
        let load: Vec<_> = fixture.states.iter().map(|state| state.in_flight).collect();
        assert!(
            load[0].abs_diff(1_000) < 20 && load[1].abs_diff(2_000) < 40,
            "{load:?}"
        );
    }

    #[test]
    fn idle_endpoints_are_drawn_by_weight_and_none_starves() {
        let hits = Fixture::new(&[1, 9]).hits(Algorithm::LeastConn, 10_000);
        assert!((850..1_150).contains(&hits[0]), "{hits:?}");
        let hits = Fixture::new(&[1; 100]).hits(Algorithm::LeastConn, 10_000);
        assert!(hits.iter().all(|hits| (50..160).contains(hits)), "{hits:?}");
    }
}
