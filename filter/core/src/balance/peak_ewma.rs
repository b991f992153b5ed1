//! Peak EWMA: the better of two by response time, times the requests in flight (Finagle, linkerd).
//!
//! A slow answer counts at once and is forgotten slowly, a fast one moves the average slowly; and what is already in flight
//! counts before any of it is answered.

use crate::vitals::Latency;
use crate::{Rng, Timestamp};

use super::ewma::{decay, score};
use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Field};

/// What an endpoint without an average costs for each request in flight: one is sent to find out, not more.
const UNKNOWN_SECONDS: f64 = 1.0;

/// Averages and requests in flight are in the [`Field`]; there is nothing else to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakEwma;

impl Balancer for PeakEwma {
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(field, rng, |idx| {
            let in_flight = f64::from(field.in_flight(idx));
            let latency = field.vitals.get(idx).and_then(|vitals| vitals.latency);
            let cost = match latency {
                Some(_) => score(latency, field.now) * (in_flight + 1.0),
                None => UNKNOWN_SECONDS * in_flight,
            };
            cost / field.share(idx)
        })
    }
}

impl PeakEwma {
    /// Takes a response time, in seconds. A failure is never good news, however fast it was.
    pub fn observe(
        latency: &mut Option<Latency>,
        response_time: f64,
        failed: bool,
        now: Timestamp,
    ) {
        let average = match *latency {
            Some(known) if response_time >= score(Some(known), now) => response_time,
            Some(known) if failed => known.average,
            Some(known) => decay(known, response_time, now),
            None if failed => UNKNOWN_SECONDS,
            None => response_time,
        };
        *latency = Some(Latency {
            average,
            touched: now,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::LoadBalance;
    use super::*;
    use crate::testing::Ground;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1_543_238_266_000_000_000).after(Duration::from_secs(seconds))
    }

    fn after(observations: &[(f64, bool, u64)]) -> f64 {
        let mut latency = None;
        for (response_time, failed, seconds) in observations {
            PeakEwma::observe(&mut latency, *response_time, *failed, at(*seconds));
        }
        latency.unwrap().average
    }

    #[test]
    fn a_peak_counts_at_once_and_is_forgotten_slowly() {
        assert_eq!(after(&[(0.1, false, 0), (2.0, false, 1)]), 2.0);
        let later = after(&[(2.0, false, 0), (0.1, false, 1)]);
        assert!(later > 1.8 && later < 2.0, "{later}");
    }

    #[test]
    fn a_fast_failure_is_no_good_news() {
        assert_eq!(after(&[(0.5, false, 0), (0.001, true, 1)]), 0.5);
        assert_eq!(after(&[(0.001, true, 0)]), 1.0);
    }

    #[test]
    fn what_is_in_flight_multiplies_the_cost() {
        let mut ground = Ground {
            attempts: 2,
            ..Ground::new(&[1; 2])
        };
        for (vitals, average) in ground.vitals.iter_mut().zip([0.1, 0.3]) {
            vitals.latency = Some(Latency {
                average,
                touched: ground.now,
            });
        }
        let firsts = |ground: &Ground| {
            let picks = ground.picks(LoadBalance::PeakEwma, (0..20).map(|_| String::new()));
            picks.iter().map(|picks| picks[0]).sum::<usize>()
        };
        assert_eq!(firsts(&ground), 0);
        ground.vitals[0].in_flight = 3;
        assert_eq!(firsts(&ground), 20);
    }

    #[test]
    fn an_unknown_endpoint_gets_one_request_to_find_out() {
        let mut ground = Ground {
            attempts: 1,
            ..Ground::new(&[1; 2])
        };
        ground.vitals[0].latency = Some(Latency {
            average: 0.1,
            touched: ground.now,
        });
        assert_eq!(ground.picks_from(0, LoadBalance::PeakEwma), 1);
        ground.vitals[1].in_flight = 1;
        assert_eq!(ground.picks_from(0, LoadBalance::PeakEwma), 0);
    }
}
