//! EWMA: the better of two by the moving average of their response times.
//!
//! As ingress-nginx's `ewma`, to the constant: averages decay over ten seconds, an endpoint without one scores zero and is
//! tried first, and a new endpoint begins at the mean of the others. Unlike there, the averages belong to one backend: two
//! services with one endpoint do not mix theirs.

use crate::endpoint_state::{EndpointState, Latency};
use crate::{Rng, Timestamp};

use super::two_choices::better_of_two;
use super::{Balancer, Candidates, Needs, PickContext, Response, Setup};

/// The time in which an average loses all but 1/e.
const DECAY_SECONDS: f64 = 10.0;

/// Stateless: the averages are in the [`PickContext`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Ewma;

impl Balancer for Ewma {
    const NAME: &'static str = "ewma";
    const NEEDS: Needs = Needs {
        latency: true,
        ..Needs::NOTHING
    };

    fn new(_setup: &Setup<'_>, _rng: &mut impl Rng) -> Self {
        Ewma
    }

    fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates {
        better_of_two(context, rng, |idx| {
            let score = context
                .states
                .get(idx)
                .map_or(0.0, |state| score(state.latency, context.now));
            score / context.share(idx)
        })
    }

    fn observe(endpoint: &mut EndpointState, response: Response, now: Timestamp) {
        let latency = &mut endpoint.latency;
        let seconds = response.seconds;
        let average = latency.map_or(seconds, |known| decay(known, seconds, now));
        *latency = Some(Latency {
            average,
            touched: now,
        });
    }
}

impl Ewma {
    /// Gives those that join now the mean of what the others have.
    pub fn start_at_mean(states: &mut [EndpointState], now: Timestamp) {
        let known = || states.iter().filter_map(|state| state.latency);
        let count = known().count();
        if count == 0 {
            return;
        }
        let mean = known().map(|latency| latency.average).sum::<f64>() / count as f64;
        for state in states
            .iter_mut()
            .filter(|state| state.latency.is_none() && state.joined == now)
        {
            state.latency = Some(Latency {
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
    use super::super::Algorithm;
    use super::*;
    use crate::testing::Fixture;

    /// The clock of the reference vectors (ingress-nginx's `ewma_test.lua`).
    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos((1_543_238_266 - seconds) * 1_000_000_000)
    }

    fn response(seconds: f64) -> Response {
        Response {
            seconds,
            failed: false,
        }
    }

    fn reference() -> Fixture {
        let mut fixture = Fixture {
            attempts: 3,
            ..Fixture::new(&[1; 3])
        };
        for (state, (average, ago)) in
            fixture
                .states
                .iter_mut()
                .zip([(0.2, 1), (0.3, 5), (1.2, 20)])
        {
            state.latency = Some(Latency {
                average,
                touched: at(ago),
            });
        }
        fixture
    }

    fn picks(fixture: &Fixture) -> Vec<Vec<usize>> {
        fixture.picks(Algorithm::Ewma, (0..100).map(|_| String::new()))
    }

    #[test]
    fn scores_and_averages_are_those_of_the_reference() {
        let fixture = reference();
        let score = |idx: usize| score(fixture.states[idx].latency, at(0));
        assert!((score(2) - 0.162_402_339_883_935_23).abs() < 1e-15);
        assert!((score(0) - 0.2 * (-0.1f64).exp()).abs() < 1e-15);
        let mut second = fixture.states[1].clone();
        Ewma::observe(&mut second, response(0.02 + 0.1), at(0));
        let updated = second.latency.unwrap();
        assert!((updated.average - 0.229_175_518_748_274_02).abs() < 1e-15);
        assert_eq!(updated.touched, at(0));
    }

    #[test]
    fn of_two_the_better_score_is_taken_and_the_other_is_next() {
        let fixture = reference().without(&[1]);
        assert!(picks(&fixture).iter().all(|picks| picks[..2] == [2, 0]));
    }

    #[test]
    fn an_endpoint_without_an_average_is_tried_first_and_takes_over_its_first_response_time() {
        let mut fixture = reference().without(&[1]);
        fixture.states[0].latency = None;
        assert!(picks(&fixture).iter().all(|picks| picks[0] == 0));
        let mut state = EndpointState::default();
        Ewma::observe(&mut state, response(0.5), at(0));
        assert_eq!(state.latency.unwrap().average, 0.5);
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
        let mut fixture = Fixture::new(&[1; 5]);
        for (idx, average) in [(0, 0.2), (2, 1.2)] {
            fixture.states[idx].latency = Some(Latency {
                average,
                touched: at(9),
            });
        }
        for idx in [1, 3] {
            fixture.states[idx].joined = at(0);
        }
        Ewma::start_at_mean(&mut fixture.states, at(0));
        let average = |idx: usize| fixture.states[idx].latency.map(|latency| latency.average);
        assert_eq!([average(1), average(3)], [Some(0.7), Some(0.7)]);
        assert_eq!(average(4), None, "it did not join now");
        assert_eq!(average(0), Some(0.2));
    }
}
