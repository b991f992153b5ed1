//! One endpoint by chance.

use crate::{EndpointIdx, Rng};

use super::{Candidates, PickContext};

/// Up to so many endpoints are drawn from a list of those not tried yet, which is exact; more, by drawing again.
const FEW: usize = 32;
/// Attempts before such a list is made.
const QUICK: usize = 3;

/// One that is ready and was not tried, by chance, by its share.
pub fn draw(
    context: &PickContext<'_>,
    tried: &Candidates,
    except: Option<EndpointIdx>,
    rng: &mut impl Rng,
) -> Option<EndpointIdx> {
    let open = |idx: EndpointIdx| Some(idx) != except && !tried.has(idx);
    let mut last_resort = None;
    for attempt in 0..FEW {
        // Nearly always the first one will do. It has its share either way.
        if attempt == QUICK && context.eligible.ready().len() <= FEW {
            return draw_of_few(context, open, rng);
        }
        let Some(idx) = context
            .eligible
            .at_weight(rng.below(context.eligible.total_weight()))
            .filter(|&idx| open(idx))
        else {
            continue;
        };
        let ramp = context.ramp(idx);
        if ramp >= 1.0 || rng.fraction() < ramp {
            return Some(idx);
        }
        last_resort = Some(idx);
    }
    last_resort
}

fn draw_of_few(
    context: &PickContext<'_>,
    open: impl Fn(EndpointIdx) -> bool,
    rng: &mut impl Rng,
) -> Option<EndpointIdx> {
    let mut sums = [(0, 0.0); FEW];
    let (mut total, mut len) = (0.0, 0);
    let others = context
        .eligible
        .ready()
        .iter()
        .copied()
        .filter(|&idx| open(idx));
    for (slot, idx) in sums.iter_mut().zip(others) {
        total += context.share(idx);
        *slot = (idx, total);
        len += 1;
    }
    let point = rng.fraction() * total;
    let drawn = sums.iter().take(len).find(|(_, sum)| point < *sum);
    drawn
        .or_else(|| sums.get(len.checked_sub(1)?))
        .map(|(idx, _)| *idx)
}
