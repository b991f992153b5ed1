//! Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016): a hot key cannot overload its endpoint.
//!
//! No endpoint gets more than `load_factor` times the mean of the requests in flight, this one counted; what would be
//! above goes on along the ring, so that the surplus of one key always goes the same way.

use crate::Rng;

use super::chash::along_the_ring;
use super::{Balancer, Candidates, Needs, PickContext, Setup};

/// The bound, as a factor of the mean.
#[derive(Clone, Copy, Debug)]
pub struct BoundedChash {
    load_factor: f64,
}

impl Balancer for BoundedChash {
    const NAME: &'static str = "bounded_chash";
    const NEEDS: Needs = Needs {
        key: true,
        load_factor: true,
        ring: true,
        in_flight: true,
        ..Needs::NOTHING
    };

    fn new(setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        BoundedChash {
            load_factor: f64::from(setup.parameters.load_factor) / 100.0,
        }
    }

    fn pick(&mut self, context: &PickContext<'_>, _rng: &mut impl Rng) -> Candidates {
        let load = f64::from(context.in_flight_of_all) + 1.0;
        let weights = context.eligible.total_weight() as f64;
        let capacity = |idx| {
            (self.load_factor * load * f64::from(context.endpoints.weight(idx)) / weights).ceil()
        };
        along_the_ring(context, |point| {
            f64::from(context.in_flight(point.node())) < capacity(point.node())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use crate::testing::Fixture;

    const BOUNDED: Algorithm = Algorithm::BoundedChash;

    fn pick(fixture: &Fixture, key: &str) -> Vec<usize> {
        fixture.picks(BOUNDED, [key.to_owned()]).remove(0)
    }

    #[test]
    fn without_load_it_is_the_plain_ring() {
        let fixture = Fixture::new(&[1; 10]);
        let keys = || (0..200).map(|n| format!("key {n}"));
        assert_eq!(
            fixture.picks(BOUNDED, keys()),
            fixture.picks(Algorithm::Chash, keys())
        );
    }

    #[test]
    fn a_hot_key_spills_over_along_the_ring_and_nobody_is_above_the_bound() {
        let mut fixture = Fixture::new(&[1; 10]);
        let along = Fixture {
            attempts: 10,
            ..Fixture::new(&[1; 10])
        }
        .picks(Algorithm::Chash, ["hot".to_owned()]);
        for load in 1..=1_000u32 {
            let idx = pick(&fixture, "hot")[0];
            fixture.states[idx].in_flight += 1;
            let bound = (1.25 * f64::from(load) / 10.0).ceil() as u32;
            assert!(fixture.states[idx].in_flight <= bound, "request {load}");
        }
        let loads: Vec<_> = along[0]
            .iter()
            .map(|&idx| fixture.states[idx].in_flight)
            .collect();
        assert!(
            loads.is_sorted_by(|a, b| a >= b),
            "in the order of the ring: {loads:?}"
        );
    }

    #[test]
    fn the_bound_is_a_share_by_weight() {
        let mut fixture = Fixture::new(&[3, 1]);
        for _ in 0..400 {
            let idx = pick(&fixture, "hot")[0];
            fixture.states[idx].in_flight += 1;
        }
        assert!(fixture.states[0].in_flight <= 375 && fixture.states[1].in_flight <= 125);
    }
}
