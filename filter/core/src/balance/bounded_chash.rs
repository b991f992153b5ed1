//! Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016): a hot key cannot overload its endpoint.
//!
//! No endpoint gets more than `load_factor` times the mean of the requests in flight, this one counted; what would be
//! above goes on along the ring, so that the surplus of one key always goes the same way.

use crate::Rng;

use super::chash::along_the_ring;
use super::{Balancer, Candidates, Field};

/// The bound, as a factor of the mean.
#[derive(Clone, Copy, Debug)]
pub struct BoundedChash {
    load_factor: f64,
}

impl BoundedChash {
    /// From percent of the mean.
    #[must_use]
    pub fn new(percent: u16) -> Self {
        BoundedChash {
            load_factor: f64::from(percent) / 100.0,
        }
    }
}

impl Balancer for BoundedChash {
    fn candidates(&mut self, field: &Field<'_>, _rng: &mut impl Rng) -> Candidates {
        let load = f64::from(field.in_flight_of_all) + 1.0;
        let tickets = field.pool.tickets() as f64;
        let capacity = |idx| {
            (self.load_factor * load * f64::from(field.endpoints.weight(idx)) / tickets).ceil()
        };
        along_the_ring(field, |point| {
            f64::from(field.in_flight(point.node())) < capacity(point.node())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoadBalance;
    use crate::testing::Ground;

    const BOUNDED: LoadBalance = LoadBalance::BoundedChash(125);

    fn pick(ground: &Ground, key: &str) -> Vec<usize> {
        ground.picks(BOUNDED, [key.to_owned()]).remove(0)
    }

    #[test]
    fn without_load_it_is_the_plain_ring() {
        let ground = Ground::new(&[1; 10]);
        let keys = || (0..200).map(|n| format!("key {n}"));
        assert_eq!(
            ground.picks(BOUNDED, keys()),
            ground.picks(LoadBalance::Chash, keys())
        );
    }

    #[test]
    fn a_hot_key_spills_over_along_the_ring_and_nobody_is_above_the_bound() {
        let mut ground = Ground::new(&[1; 10]);
        let along = Ground {
            attempts: 10,
            ..Ground::new(&[1; 10])
        }
        .picks(LoadBalance::Chash, ["hot".to_owned()]);
        for load in 1..=1_000u32 {
            let idx = pick(&ground, "hot")[0];
            ground.vitals[idx].in_flight += 1;
            let bound = (1.25 * f64::from(load) / 10.0).ceil() as u32;
            assert!(ground.vitals[idx].in_flight <= bound, "request {load}");
        }
        let loads: Vec<_> = along[0]
            .iter()
            .map(|&idx| ground.vitals[idx].in_flight)
            .collect();
        assert!(
            loads.is_sorted_by(|a, b| a >= b),
            "in the order of the ring: {loads:?}"
        );
    }

    #[test]
    fn the_bound_is_a_share_by_weight() {
        let mut ground = Ground::new(&[3, 1]);
        for _ in 0..400 {
            let idx = pick(&ground, "hot")[0];
            ground.vitals[idx].in_flight += 1;
        }
        assert!(ground.vitals[0].in_flight <= 375 && ground.vitals[1].in_flight <= 125);
    }
}
