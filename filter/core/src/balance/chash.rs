//! Consistent hashing: the same key, the same endpoint, and a change of the endpoints moves few keys.
//!
//! As ingress-nginx's `chash`. Where the original retries on the endpoint that has just failed, retries here go on
//! along the ring: all workers and all data planes agree on the next one too.

use crate::Rng;

use super::ring::{Point, hash};
use super::{Balancer, Candidates, Field};

/// The ring is in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chash;

impl Balancer for Chash {
    fn candidates(&mut self, field: &Field<'_>, _rng: &mut impl Rng) -> Candidates {
        along_the_ring(field, |_| true)
    }
}

/// The owners of the points from the key's on, each once, of those that are ready and `fit`.
pub(super) fn along_the_ring(field: &Field<'_>, mut fits: impl FnMut(Point) -> bool) -> Candidates {
    let mut candidates = Candidates::default();
    let wanted = field.attempts.min(field.pool.ready().len()).clamp(1, Candidates::MAX);
    for point in field.ring.walk(hash(field.key)) {
        if !field.pool.is_ready(point.node()) || candidates.has(point.node()) || !is_warm(field, point) {
            continue;
        }
        if !candidates.is_empty() || fits(point) {
            candidates.push(point.node());
        }
        if candidates.len() == wanted {
            break;
        }
    }
    candidates
}

/// An endpoint that starts slowly has only a part of its points, so that keys come to it one after the other.
fn is_warm(field: &Field<'_>, point: Point) -> bool {
    let ramp = field.ramp(point.node());
    ramp >= 1.0 || point.is_within(ramp)
}
