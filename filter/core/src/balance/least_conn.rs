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
        better_of_two(field, rng, |idx| f64::from(field.in_flight(idx)) / field.share(idx))
    }
}
