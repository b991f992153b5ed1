//! Decisions about requests.

use std::time::Duration;

use sluice_tests::fake::{FakeHost, Filter, Outcome, Personality, ROUTE, tables};

use crate::in_both;

fn forwarded(list: &str) -> Outcome {
    Outcome::Forwarded(list.to_owned())
}

#[test]
fn requests_go_round_and_retries_go_to_the_next() {
    in_both(|personality| {
        let mut filter = Filter::with(personality, tables(1, &["10.0.0.1:80", "10.0.0.2:80"]));
        let mut seen: Vec<Outcome> = (0..4).map(|_| filter.request(Some(ROUTE)).1).collect();
        assert_eq!(seen[0], seen[2]);
        assert_eq!(seen[1], seen[3]);
        seen.truncate(2);
        for expected in [
            "10.0.0.1:80,10.0.0.2:80,10.0.0.1:80",
            "10.0.0.2:80,10.0.0.1:80,10.0.0.2:80",
        ] {
            assert!(seen.contains(&forwarded(expected)), "{seen:?}");
        }
    });
}

#[test]
fn a_backend_without_endpoints_is_503() {
    in_both(|personality| {
        let mut filter = Filter::with(personality, tables(1, &[]));
        assert_eq!(filter.request(Some(ROUTE)).1, Outcome::Replied(503));
    });
}

#[test]
fn what_is_not_ours_is_left_to_the_data_plane_and_counted() {
    in_both(|personality| {
        let mut filter = Filter::with(personality, tables(1, &["10.0.0.1:80"]));
        assert_eq!(filter.request(None).1, Outcome::LeftAlone);
        assert_eq!(filter.request(Some("other.example/")).1, Outcome::LeftAlone);
        assert_eq!(
            filter.host().counters[b"sluice.unknown_routes".as_slice()],
            1
        );
    });
}

#[test]
fn a_client_cannot_choose_its_endpoint() {
    let mut filter = Filter::with(Personality::Envoy, tables(1, &["10.0.0.1:80"]));
    let spoofed = [("x-sluice-endpoint", "169.254.169.254:80")];
    assert_eq!(
        filter.request_with_headers(Some(ROUTE), &spoofed).1,
        forwarded("10.0.0.1:80")
    );
    assert_eq!(
        filter.request_with_headers(None, &spoofed).1,
        Outcome::LeftAlone
    );
    assert_eq!(
        filter.request_with_headers(Some("unknown/"), &spoofed).1,
        Outcome::LeftAlone
    );
}

#[test]
fn a_host_without_metrics_is_served_all_the_same() {
    in_both(|personality| {
        let mut filter = Filter::on(FakeHost {
            metrics: false,
            ..FakeHost::new(personality)
        });
        let bootstrap_config = filter.bootstrap_config(false);
        let config = sluice_filter_config::PluginConfig {
            tables: Some(tables(1, &["10.0.0.1:80"])),
            ..bootstrap_config
        };
        assert!(filter.configure(&config));
        assert_eq!(filter.request(Some("unknown/")).1, Outcome::LeftAlone);
        assert_eq!(filter.request(Some(ROUTE)).1, forwarded("10.0.0.1:80"));
    });
}

#[test]
fn a_request_before_the_first_tables_waits_for_them() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let (id, outcome) = filter.request(Some(ROUTE));
        assert_eq!(outcome, Outcome::Paused);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        assert_eq!(filter.fate(id), forwarded("10.0.0.1:80"));
        filter.end(id);
    });
}

#[test]
fn a_request_that_waited_for_empty_tables_is_503() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let (id, _) = filter.request(Some(ROUTE));
        filter.answer_tables(tables(1, &[]));
        assert_eq!(filter.fate(id), Outcome::Replied(503));
        filter.end(id);
    });
}

#[test]
fn nobody_waits_long_for_a_controller_that_is_down() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let (id, _) = filter.request(Some(ROUTE));
        filter.fail_call();
        filter.pass(Duration::from_secs(3));
        assert_eq!(filter.fate(id), Outcome::LeftAlone);
        assert!(
            filter
                .host()
                .log
                .iter()
                .any(|line| line.contains("no tables from the controller"))
        );
        assert_eq!(
            filter.request(Some(ROUTE)).1,
            Outcome::LeftAlone,
            "later ones do not wait at all"
        );
    });
}

#[test]
fn a_client_that_goes_away_while_it_waits_is_forgotten() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let (gone, _) = filter.request(Some(ROUTE));
        let (patient, _) = filter.request(Some(ROUTE));
        filter.end(gone);
        filter.answer_tables(tables(1, &["10.0.0.1:80"]));
        assert!(!filter.host().requests[&gone].resumed);
        assert_eq!(filter.fate(patient), forwarded("10.0.0.1:80"));
        filter.end(patient);
    });
}
