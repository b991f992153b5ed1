//! Peak EWMA: the better of two by response time, times the requests in flight (Finagle, linkerd).
//!
//! A slow answer counts at once and is forgotten slowly, a fast one moves the average slowly; and what is already in flight
//! counts before any of it is answered.

use crate::endpoint_state::{EndpointState, Latency};
use crate::{Rng, Timestamp};

use super::ewma::{decay, score};
use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Needs, PickContext, Response, Setup};

/// Cost of each request in flight for an endpoint without an average: one request is sent to find out, not more.
const UNKNOWN_SECONDS: f64 = 1.0;

/// Stateless: averages and requests in flight are in the [`PickContext`].
#[derive(Clone, Copy, Debug, Default)]
pub struct PeakEwma;

impl Balancer for PeakEwma {
    const NAME: &'static str = "peak_ewma";
    const NEEDS: Needs = Needs {
        in_flight: true,
        latency: true,
        failures: true,
        ..Needs::NOTHING
    };

    fn new(_setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        PeakEwma
    }

    fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(context, rng, |idx| {
            let in_flight = f64::from(context.in_flight(idx));
            let latency = context.states.get(idx).and_then(|state| state.latency);
            let cost = match latency {
                Some(_) => score(latency, context.now) * (in_flight + 1.0),
                None => UNKNOWN_SECONDS * in_flight,
            };
            cost / context.share(idx)
        })
    }

    /// A failure is never good news, however fast it was.
    fn observe(endpoint: &mut EndpointState, response: Response, now: Timestamp) {
        let Response { seconds, failed } = response;
        let latency = &mut endpoint.latency;
        let average = match *latency {
            Some(known) if seconds >= score(Some(known), now) => seconds,
            Some(known) if failed => known.average,
            Some(known) => decay(known, seconds, now),
            None if failed => UNKNOWN_SECONDS,
            None => seconds,
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

    use super::super::Algorithm;
    use super::*;
    use crate::testing::Fixture;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1_543_238_266_000_000_000).after(Duration::from_secs(seconds))
    }

    fn after(observations: &[(f64, bool, u64)]) -> f64 {
        let mut state = EndpointState::default();
        for &(seconds, failed, time) in observations {
            PeakEwma::observe(&mut state, Response { seconds, failed }, at(time));
        }
        state.latency.unwrap().average
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
        let mut fixture = Fixture {
            attempts: 2,
            ..Fixture::new(&[1; 2])
        };
        for (state, average) in fixture.states.iter_mut().zip([0.1, 0.3]) {
            state.latency = Some(Latency {
                average,
                touched: fixture.now,
            });
        }
        let firsts = |fixture: &Fixture| {
            let picks = fixture.picks(Algorithm::PeakEwma, (0..20).map(|_| String::new()));
            picks.iter().map(|picks| picks[0]).sum::<usize>()
        };
        assert_eq!(firsts(&fixture), 0);
        fixture.states[0].in_flight = 3;
        assert_eq!(firsts(&fixture), 20);
    }

    #[test]
    fn an_unknown_endpoint_gets_one_request_to_find_out() {
        let mut fixture = Fixture {
            attempts: 1,
            ..Fixture::new(&[1; 2])
        };
        fixture.states[0].latency = Some(Latency {
            average: 0.1,
            touched: fixture.now,
        });
        assert_eq!(fixture.picks_from(0, Algorithm::PeakEwma), 1);
        fixture.states[1].in_flight = 1;
        assert_eq!(fixture.picks_from(0, Algorithm::PeakEwma), 0);
    }
}
