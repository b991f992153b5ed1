//! Balanced sessions: the cookie is a key of a consistent hash. New endpoints take their part of the sessions.
//!
//! Any text is a key, also one that a client made up, as in ingress-nginx. A draining endpoint keeps its points, so its sessions stay;
//! a backup has points only while no primary gets requests. New keys are drawn until they fall on an endpoint that gets new sessions, and on the same one when it is warm.

use crate::balance::ring::{Point, hash};
use crate::balance::{Candidates, PickContext, draw};
use crate::{EndpointIdx, Rng};

use super::{SessionKey, Sessions};

/// Stateless: the ring is in the [`PickContext`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Balanced;

/// Keys that are drawn for a new session.
const KEYS: u64 = 20;

impl Sessions for Balanced {
    fn locate(&self, context: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx> {
        owner(context, key, |point| {
            serves(context, point) && is_warm(context, point)
        })
    }

    fn fallback(&self, context: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx> {
        owner(context, key, |point| {
            context.eligible.is_ready(point.node())
        })
    }

    fn begin(
        &self,
        context: &PickContext<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<(EndpointIdx, Option<SessionKey>)> {
        for n in 0..KEYS {
            let key = SessionKey::draw(n, context.now, rng);
            let now = self.locate(context, key.as_bytes())?;
            let lasts =
                || owner(context, key.as_bytes(), |point| serves(context, point)) == Some(now);
            if context.eligible.is_ready(now) && !tried.has(now) && lasts() {
                return Some((now, Some(key)));
            }
        }
        draw(context, tried, None, rng).map(|idx| (idx, None))
    }
}

fn owner(
    context: &PickContext<'_>,
    key: &[u8],
    fits: impl Fn(Point) -> bool,
) -> Option<EndpointIdx> {
    context
        .ring
        .walk(hash(key))
        .find(|&point| fits(point))
        .map(Point::node)
}

/// A backup of primaries that serve has no sessions.
fn serves(context: &PickContext<'_>, point: Point) -> bool {
    !context.eligible.is_waiting(point.node())
}

/// Sessions move to a new endpoint one after the other, as it grows to its share.
fn is_warm(context: &PickContext<'_>, point: Point) -> bool {
    let ramp = context.ramp(point.node());
    ramp >= 1.0 || point.is_within(ramp)
}
