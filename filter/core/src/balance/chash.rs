//! Consistent hashing: the same key, the same endpoint, and a change of the endpoints moves few keys.
//!
//! As ingress-nginx's `chash`. Where the original retries on the endpoint that has just failed, retries here go on
//! along the ring: all workers and all data planes agree on the next one too.

use crate::Rng;

use super::ring::{Point, hash};
use super::{Balancer, Candidates, Needs, PickContext, Setup};

/// Stateless: the ring is in the [`PickContext`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Chash;

impl Balancer for Chash {
    const NAME: &'static str = "chash";
    const NEEDS: Needs = Needs {
        key: true,
        ring: true,
        ..Needs::NOTHING
    };

    fn new(_setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        Chash
    }

    fn pick(&mut self, context: &PickContext<'_>, _rng: &mut impl Rng) -> Candidates {
        along_the_ring(context, |_| true)
    }
}

/// The owners of the points from the key's on, each once, of those that are ready and `fit`.
pub(super) fn along_the_ring(
    context: &PickContext<'_>,
    mut fits: impl FnMut(Point) -> bool,
) -> Candidates {
    let mut candidates = Candidates::default();
    let wanted = context
        .attempts
        .min(context.eligible.ready().len())
        .clamp(1, Candidates::MAX);
    for point in context.ring.walk(hash(context.key)) {
        if !context.eligible.is_ready(point.node())
            || candidates.has(point.node())
            || !is_warm(context, point)
        {
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
fn is_warm(context: &PickContext<'_>, point: Point) -> bool {
    let ramp = context.ramp(point.node());
    ramp >= 1.0 || point.is_within(ramp)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Algorithm;
    use crate::endpoint_state::SlowStart;
    use crate::testing::Fixture;

    fn keys(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|n| format!("key {n}"))
    }

    fn firsts(fixture: &Fixture, count: usize) -> Vec<usize> {
        fixture
            .picks(Algorithm::Chash, keys(count))
            .into_iter()
            .map(|picks| picks[0])
            .collect()
    }

    #[test]
    fn a_key_has_one_endpoint() {
        let picks =
            Fixture::new(&[1; 10]).picks(Algorithm::Chash, (0..50).map(|_| "user-1".to_owned()));
        assert!(picks.iter().all(|pick| *pick == picks[0]));
    }

    #[test]
    fn a_retry_of_a_hash_goes_to_another_endpoint_and_always_to_the_same_other() {
        let fixture = Fixture {
            attempts: 3,
            ..Fixture::new(&[1; 5])
        };
        let again = fixture.picks(Algorithm::Chash, keys(100));
        for (n, picks) in fixture
            .picks(Algorithm::Chash, keys(100))
            .into_iter()
            .enumerate()
        {
            assert_eq!(picks, again[n]);
            assert!(
                picks[0] != picks[1] && picks[1] != picks[2] && picks[0] != picks[2],
                "{picks:?}"
            );
        }
    }

    #[test]
    fn an_ejected_endpoint_gives_its_keys_to_the_next_on_the_ring_and_no_other_key_moves() {
        let fixture = Fixture {
            attempts: 2,
            ..Fixture::new(&[1; 5])
        };
        let before = fixture.picks(Algorithm::Chash, keys(1_000));
        let after = firsts(&fixture.without(&[2]), 1_000);
        for (picks, after) in before.iter().zip(after) {
            assert_eq!(after, if picks[0] == 2 { picks[1] } else { picks[0] });
        }
    }

    #[test]
    fn keys_come_to_a_new_endpoint_one_after_the_other_and_stay() {
        let mut fixture = Fixture::new(&[1; 5]);
        fixture.slow_start = SlowStart(Some(Duration::from_secs(100)));
        let old = firsts(&fixture, 2_000);
        fixture.states[0].joined = fixture.now;
        let (mut before, mut share) = (firsts(&fixture, 2_000), Vec::new());
        for _ in 0..10 {
            fixture.now = fixture.now.after(Duration::from_secs(10));
            let now = firsts(&fixture, 2_000);
            assert!(
                before
                    .iter()
                    .zip(&now)
                    .all(|(before, now)| before == now || *now == 0)
            );
            share.push(now.iter().filter(|&&idx| idx == 0).count());
            before = now;
        }
        assert!(share.is_sorted() && share[0] * 5 < share[9], "{share:?}");
        assert_eq!(before, old);
    }

    #[test]
    fn weights_are_shares_of_the_keys() {
        let hits = Fixture::new(&[3, 1]).hits(Algorithm::Chash, 10_000);
        assert!((6_800..8_200).contains(&hits[0]), "{hits:?}");
    }
}
