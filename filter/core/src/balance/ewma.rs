//! EWMA: the better of two by the moving average of their response times.
//!
//! As ingress-nginx's `ewma`, to the constant: averages decay over ten seconds, an endpoint without one scores zero and is
//! tried first, and a new endpoint begins at the mean of the others. Unlike there, the averages belong to one backend: two
//! services with one endpoint do not mix theirs.

use crate::vitals::{Latency, Vitals};
use crate::{Rng, Timestamp};

use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Field};

/// The time in which an average loses all but 1/e.
const DECAY_SECONDS: f64 = 10.0;

/// The averages are in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ewma;

impl Balancer for Ewma {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(field, rng, |idx| {
            let score = field
                .vitals
                .get(idx)
                .map_or(0.0, |vitals| score(vitals.latency, field.now));
            score / field.share(idx)
        })
    }
}

impl Ewma {
    /// Takes a response time, in seconds.
    pub fn observe(latency: &mut Option<Latency>, response_time: f64, now: Timestamp) {
        let average = latency.map_or(response_time, |known| decay(known, response_time, now));
        *latency = Some(Latency {
            average,
            touched: now,
        });
    }

    /// Gives those that join now the mean of what the others have.
    pub fn welcome(vitals: &mut [Vitals], now: Timestamp) {
        let known = || vitals.iter().filter_map(|vitals| vitals.latency);
        let count = known().count();
        if count == 0 {
            return;
        }
        let mean = known().map(|latency| latency.average).sum::<f64>() / count as f64;
        for vitals in vitals
            .iter_mut()
            .filter(|vitals| vitals.latency.is_none() && vitals.joined == now)
        {
            vitals.latency = Some(Latency {
                average: mean,
                touched: now,
            });
        }
    }
}

/// The cost of an endpoint now: its average, decayed.
pub(super) fn score(latency: Option<Latency>, now: Timestamp) -> f64 {
    latency.map_or(0.0, |known| decay(known, 0.0, now))
}

/// The average after one more response time, in seconds.
#[must_use]
pub fn decay(known: Latency, response_time: f64, now: Timestamp) -> f64 {
    let weight = (-now.since(known.touched).as_secs_f64() / DECAY_SECONDS).exp();
    known.average * weight + response_time * (1.0 - weight)
}

#[cfg(test)]
mod tests {
    use super::super::LoadBalance;
    use super::*;
    use crate::testing::Ground;

    /// The clock of the reference vectors (ingress-nginx's `ewma_test.lua`).
    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos((1_543_238_266 - seconds) * 1_000_000_000)
    }

    fn reference() -> Ground {
        let mut ground = Ground {
            attempts: 3,
            ..Ground::new(&[1; 3])
        };
        for (vitals, (average, ago)) in
            ground
                .vitals
                .iter_mut()
                .zip([(0.2, 1), (0.3, 5), (1.2, 20)])
        {
            vitals.latency = Some(Latency {
                average,
                touched: at(ago),
            });
        }
        ground
    }

    fn picks(ground: &Ground) -> Vec<Vec<usize>> {
        ground.picks(LoadBalance::Ewma, (0..100).map(|_| String::new()))
    }

    #[test]
    fn scores_and_averages_are_those_of_the_reference() {
        let ground = reference();
        let score = |idx: usize| score(ground.vitals[idx].latency, at(0));
        assert!((score(2) - 0.162_402_339_883_935_23).abs() < 1e-15);
        assert!((score(0) - 0.2 * (-0.1f64).exp()).abs() < 1e-15);
        let mut second = ground.vitals[1].latency;
        Ewma::observe(&mut second, 0.02 + 0.1, at(0));
        let updated = second.unwrap();
        assert!((updated.average - 0.229_175_518_748_274_02).abs() < 1e-15);
        assert_eq!(updated.touched, at(0));
    }

    #[test]
    fn of_two_the_better_score_is_taken_and_the_other_is_next() {
        let ground = reference().without(&[1]);
        assert!(picks(&ground).iter().all(|picks| picks[..2] == [2, 0]));
    }

    #[test]
    fn an_endpoint_without_an_average_is_tried_first_and_takes_over_its_first_response_time() {
        let mut ground = reference().without(&[1]);
        ground.vitals[0].latency = None;
        assert!(picks(&ground).iter().all(|picks| picks[0] == 0));
        let mut latency = None;
        Ewma::observe(&mut latency, 0.5, at(0));
        assert_eq!(latency.unwrap().average, 0.5);
    }

    #[test]
    fn the_worst_of_three_is_never_the_first_choice() {
        assert!(
            picks(&reference())
                .iter()
                .all(|picks| picks[0] != 1 && picks.len() == 3)
        );
    }

    #[test]
    fn those_that_join_begin_at_the_mean_of_the_stored_averages() {
        let mut ground = Ground::new(&[1; 5]);
        for (idx, average) in [(0, 0.2), (2, 1.2)] {
            ground.vitals[idx].latency = Some(Latency {
                average,
                touched: at(9),
            });
        }
        for idx in [1, 3] {
            ground.vitals[idx].joined = at(0);
        }
        Ewma::welcome(&mut ground.vitals, at(0));
        let average = |idx: usize| ground.vitals[idx].latency.map(|latency| latency.average);
        assert_eq!([average(1), average(3)], [Some(0.7), Some(0.7)]);
        assert_eq!(average(4), None, "it did not join now");
        assert_eq!(average(0), Some(0.2));
    }
}
