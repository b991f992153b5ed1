//! Measurements at the end of a request.

use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use sluice_filter_config::{LoadBalance, Outlier, Route};
use sluice_wasm_host::ContextId;

use sluice_tests::fake::{BACKEND, Filter, Outcome, Personality, ROUTE, backend, snapshot};

use crate::in_both;

const PODS: [&str; 2] = ["10.0.0.1:80", "10.0.0.2:80"];
const QUICK: Duration = Duration::from_millis(5);

fn with(personality: Personality, load_balance: LoadBalance, ejecting: bool) -> Filter {
    let mut backend = backend(&PODS);
    backend.load_balance = load_balance;
    backend.outlier = ejecting.then(|| Outlier {
        consecutive_5xx: NonZeroU16::MIN,
        base_ejection: NonZeroU32::new(30).unwrap(),
        max_ejected: 50.try_into().unwrap(),
        panic_threshold: 0.try_into().unwrap(),
    });
    Filter::with(
        personality,
        snapshot(
            1,
            Route::to(BACKEND),
            [(BACKEND.to_owned(), backend)].into(),
        ),
    )
}

fn open(filter: &mut Filter) -> (ContextId, String) {
    let (id, outcome) = filter.open(Some(ROUTE), &[]);
    let Outcome::Forwarded(list) = outcome else {
        panic!("{outcome:?}")
    };
    (id, list.split(',').next().unwrap().to_owned())
}

fn other(pod: &str) -> &'static str {
    PODS.into_iter().find(|known| *known != pod).unwrap()
}

#[test]
fn requests_in_flight_count_until_their_end_also_when_the_client_goes_away() {
    in_both(|personality| {
        for load_balance in [
            LoadBalance::named("least_conn"),
            LoadBalance::named("peak_ewma"),
        ] {
            let mut filter = with(personality, load_balance, false);
            let (held, busy) = open(&mut filter);
            for _ in 0..10 {
                let (id, pod) = open(&mut filter);
                assert_eq!(pod, other(&busy));
                // No response headers: the client went away.
                filter.end(id);
            }
            filter.end(held);
            let firsts: Vec<String> = (0..50)
                .map(|_| {
                    let (id, pod) = open(&mut filter);
                    filter.end(id);
                    pod
                })
                .collect();
            assert!(
                PODS.iter()
                    .all(|pod| firsts.iter().any(|first| first == pod)),
                "nothing is left in flight"
            );
        }
    });
}

#[test]
fn a_request_that_a_host_drops_without_logging_it_is_over_too() {
    in_both(|personality| {
        let mut filter = with(personality, LoadBalance::named("least_conn"), false);
        for _ in 0..50 {
            let (id, _) = open(&mut filter);
            filter.drop_unlogged(id);
        }
        let (_held, busy) = open(&mut filter);
        let (_, next) = open(&mut filter);
        assert_eq!(next, other(&busy));
    });
}

#[test]
fn the_slow_one_is_left_to_the_fast_one() {
    in_both(|personality| {
        for load_balance in [LoadBalance::named("ewma"), LoadBalance::named("peak_ewma")] {
            let mut filter = with(personality, load_balance, false);
            for _ in 0..20 {
                let (id, pod) = open(&mut filter);
                let took = if pod == PODS[0] {
                    Duration::from_millis(800)
                } else {
                    QUICK
                };
                filter.answer_client(id, &[(&pod, 200)], took);
                filter.end(id);
            }
            let (id, pod) = open(&mut filter);
            assert_eq!(pod, PODS[1]);
            filter.end(id);
        }
    });
}

#[test]
fn a_failure_ejects_and_time_brings_back() {
    in_both(|personality| {
        let mut filter = with(personality, LoadBalance::round_robin(), true);
        let (id, failing) = open(&mut filter);
        filter.answer_client(id, &[(&failing, 503)], QUICK);
        filter.end(id);
        for _ in 0..4 {
            let (id, pod) = open(&mut filter);
            assert_eq!(pod, other(&failing));
            filter.end(id);
        }
        filter.vm.env_mut().now += Duration::from_secs(31);
        let pods = [open(&mut filter).1, open(&mut filter).1];
        assert!(pods.contains(&failing));
    });
}

#[test]
fn a_retried_attempt_counts_against_the_endpoint_that_failed() {
    in_both(|personality| {
        let mut filter = with(personality, LoadBalance::round_robin(), true);
        let (id, failing) = open(&mut filter);
        filter.answer_client(id, &[(&failing, 502), (other(&failing), 200)], QUICK);
        filter.end(id);
        for _ in 0..4 {
            let (id, pod) = open(&mut filter);
            assert_eq!(pod, other(&failing));
            filter.end(id);
        }
    });
}

#[test]
fn nothing_is_read_of_a_request_that_nobody_listens_to() {
    in_both(|personality| {
        let mut filter = with(personality, LoadBalance::round_robin(), false);
        let (id, pod) = open(&mut filter);
        filter.answer_client(id, &[(&pod, 200)], QUICK);
        let before = filter.host().reads;
        filter.end(id);
        assert_eq!(filter.host().reads, before);
        let (id, _) = open(&mut filter);
        assert_eq!(
            filter.host().reads,
            before + 1,
            "one property for a request: its location"
        );
        filter.end(id);
    });
}
