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
        BoundedChash { load_factor: f64::from(percent) / 100.0 }
    }
}

impl Balancer for BoundedChash {
    fn candidates(&mut self, field: &Field<'_>, _rng: &mut impl Rng) -> Candidates {
        let load = f64::from(field.in_flight_of_all) + 1.0;
        let tickets = field.pool.tickets() as f64;
        let capacity =
            |idx| (self.load_factor * load * f64::from(field.endpoints.weight(idx)) / tickets).ceil();
        along_the_ring(field, |point| f64::from(field.in_flight(point.node())) < capacity(point.node()))
    }
}
