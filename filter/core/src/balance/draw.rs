//! One endpoint by chance.

use crate::{EndpointIdx, Rng};

use super::{Candidates, Field};

/// Up to so many endpoints are drawn from a list of those not tried yet, which is exact; more, by drawing again.
const FEW: usize = 32;
/// Attempts before such a list is made.
const QUICK: usize = 3;

/// One that is ready and was not tried, by chance, by its share.
pub fn draw(
    field: &Field<'_>,
    tried: &Candidates,
    except: Option<EndpointIdx>,
    rng: &mut impl Rng,
) -> Option<EndpointIdx> {
    let open = |idx: EndpointIdx| Some(idx) != except && !tried.has(idx);
    let mut last_resort = None;
    for attempt in 0..FEW {
        // Nearly always the first one will do. It has its share either way.
        if attempt == QUICK && field.pool.ready().len() <= FEW {
            return draw_of_few(field, open, rng);
        }
        let Some(idx) = field
            .pool
            .drawn(rng.below(field.pool.tickets()))
            .filter(|&idx| open(idx))
        else {
            continue;
        };
        let ramp = field.ramp(idx);
        if ramp >= 1.0 || rng.fraction() < ramp {
            return Some(idx);
        }
        last_resort = Some(idx);
    }
    last_resort
}

fn draw_of_few(
    field: &Field<'_>,
    open: impl Fn(EndpointIdx) -> bool,
    rng: &mut impl Rng,
) -> Option<EndpointIdx> {
    let mut sums = [(0, 0.0); FEW];
    let (mut total, mut len) = (0.0, 0);
    let others = field.pool.ready().iter().copied().filter(|&idx| open(idx));
    for (slot, idx) in sums.iter_mut().zip(others) {
        total += field.share(idx);
        *slot = (idx, total);
        len += 1;
    }
    let point = rng.fraction() * total;
    let drawn = sums.iter().take(len).find(|(_, sum)| point < *sum);
    drawn
        .or_else(|| sums.get(len.checked_sub(1)?))
        .map(|(idx, _)| *idx)
}
