//! The power of two choices (Mitzenmacher 2001): draw two by chance, take the better.
//!
//! Nearly as good as looking at all of them, in constant time, and workers that do not know of each other do not all run to
//! the same endpoint.

use crate::{EndpointIdx, Rng};

use super::draw::draw;
use super::{Candidates, PickContext};

/// Candidates by ascending cost among two at a time. Equal costs leave it to the draw, which goes by weight.
pub(super) fn better_of_two(
    context: &PickContext<'_>,
    rng: &mut impl Rng,
    cost: impl Fn(EndpointIdx) -> f64,
) -> Candidates {
    let mut candidates = Candidates::default();
    let wanted = context
        .attempts
        .min(context.eligible.ready().len())
        .clamp(1, Candidates::MAX);
    while candidates.len() < wanted {
        let Some(first) = draw(context, &candidates, None, rng) else {
            break;
        };
        let second = draw(context, &candidates, Some(first), rng);
        let better = second
            .filter(|&second| cost(second) < cost(first))
            .unwrap_or(first);
        candidates.push(better);
    }
    candidates
}
