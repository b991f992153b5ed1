//! Balanced sessions: the cookie is a key of a consistent hash. New endpoints take their part of the sessions.
//!
//! Any text is a key, whoever wrote it, as in ingress-nginx. A draining endpoint keeps its points, so its sessions stay;
//! new keys are drawn until they fall on an endpoint that gets new sessions, and on the same one when it is warm.

use crate::balance::ring::{Point, hash};
use crate::balance::{Candidates, Field, draw};
use crate::{EndpointIdx, Rng};

use super::{SessionKey, Sessions};

/// The ring is in the [`Field`]; there is nothing else to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balanced;

/// Keys that are drawn for a new session.
const KEYS: u64 = 20;

impl Sessions for Balanced {
    fn locate(&self, field: &Field<'_>, key: &[u8]) -> Option<EndpointIdx> {
        owner(field, key, |point| is_warm(field, point))
    }

    fn stand_in(&self, field: &Field<'_>, key: &[u8]) -> Option<EndpointIdx> {
        owner(field, key, |point| field.pool.is_ready(point.node()))
    }

    fn begin(
        &self,
        field: &Field<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<(EndpointIdx, Option<SessionKey>)> {
        for n in 0..KEYS {
            let key = SessionKey::draw(n, field.now, rng);
            let now = self.locate(field, key.as_bytes())?;
            let lasts = || owner(field, key.as_bytes(), |_| true) == Some(now);
            if field.pool.is_ready(now) && !tried.has(now) && lasts() {
                return Some((now, Some(key)));
            }
        }
        draw(field, tried, None, rng).map(|idx| (idx, None))
    }
}

fn owner(field: &Field<'_>, key: &[u8], fits: impl Fn(Point) -> bool) -> Option<EndpointIdx> {
    field
        .ring
        .walk(hash(key))
        .find(|&point| fits(point))
        .map(Point::node)
}

/// Sessions move to a new endpoint one after the other, as it grows to its share.
fn is_warm(field: &Field<'_>, point: Point) -> bool {
    let ramp = field.ramp(point.node());
    ramp >= 1.0 || point.is_within(ramp)
}
