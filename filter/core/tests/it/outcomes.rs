use std::time::Duration;

use sluice_filter_config::{Endpoint, LoadBalance};
use sluice_filter_core::Outcome;

use crate::site::{Headers, Site, address, outlier};

#[test]
fn nobody_listens_to_plain_round_robin() {
    assert!(Site::new(3).send(&Headers::default()).token.is_none());
}

#[test]
fn requests_in_flight_are_counted_down_however_they_end() {
    let mut site = Site::like(2, |shop| {
        shop.load_balance = LoadBalance::named("least_conn");
    });
    let busy = site.send(&Headers::default());
    let free = address(if busy.first() == address(1) { 2 } else { 1 });
    for _ in 0..20 {
        let sent = site.send(&Headers::default());
        assert_eq!(sent.first(), free);
        // The client goes away: the end comes without an outcome.
        site.tables.complete(sent.token.unwrap(), None, site.now);
    }
    site.tables.complete(busy.token.unwrap(), None, site.now);
    let hits = site.hits(1_000);
    assert!(
        hits.iter().all(|hits| *hits > 400),
        "nothing is left in flight: {hits:?}"
    );
}

#[test]
fn what_is_in_flight_moves_with_its_endpoint_when_the_tables_change() {
    let mut site = Site::like(3, |shop| {
        shop.load_balance = LoadBalance::named("least_conn");
    });
    let held: Vec<_> = (0..300).map(|_| site.send(&Headers::default())).collect();
    site.shop.endpoints.remove(0);
    site.shop.endpoints.push(Endpoint::at(address(4)));
    site.publish_shop();
    let next: Vec<_> = (0..50).map(|_| site.send(&Headers::default())).collect();
    assert!(
        next.iter()
            .filter(|sent| sent.first() == address(4))
            .count()
            > 25,
        "the new one is empty"
    );
    for sent in held.into_iter().chain(next) {
        let first = sent.first().to_owned();
        site.end(sent, &first, 200, 1);
    }
    let hits = site.hits(3_000);
    assert!(
        hits.iter().all(|hits| (800..1_200).contains(hits)),
        "{hits:?}"
    );
}

#[test]
fn failures_in_a_row_eject_and_time_brings_back() {
    let mut site = Site::like(4, |shop| shop.outlier = outlier(3, 50, 0));
    for _ in 0..3 {
        while {
            let first = site.serve(200);
            first != address(4)
        } {}
        let sent = std::iter::from_fn(|| Some(site.send(&Headers::default())))
            .find(|s| s.first() == address(1))
            .unwrap();
        site.end(sent, &address(1), 500, 1);
    }
    assert_eq!(site.hits(300), [0, 100, 100, 100]);
    site.pass(31);
    assert_eq!(site.hits(400), [100; 4]);
}

#[test]
fn attempts_that_the_data_plane_retried_count_against_their_endpoints() {
    let mut site = Site::like(4, |shop| shop.outlier = outlier(1, 50, 0));
    let sent = site.send(&Headers::default());
    let (first, second) = (sent.candidates[0].clone(), sent.candidates[1].clone());
    site.end(sent, &second, 200, 2);
    let hits = site.hits(300);
    let ejected = site
        .shop
        .endpoints
        .iter()
        .position(|endpoint| endpoint.address == first)
        .unwrap();
    assert_eq!(hits[ejected], 0, "{hits:?}");
    assert_eq!(hits.iter().filter(|hits| **hits == 100).count(), 3);
}

#[test]
fn a_client_that_goes_away_is_no_failure_of_the_endpoint() {
    let mut site = Site::like(2, |shop| shop.outlier = outlier(1, 50, 0));
    for _ in 0..10 {
        let sent = site.send(&Headers::default());
        let first = sent.first().to_owned();
        let outcome = Outcome {
            endpoint: Some(&first),
            ..Outcome::default()
        };
        site.tables
            .complete(sent.token.unwrap(), Some(&outcome), site.now);
    }
    assert_eq!(site.hits(100), [50, 50]);
}

#[test]
fn a_total_failure_never_empties_a_backend() {
    let mut site = Site::like(3, |shop| shop.outlier = outlier(1, 100, 0));
    for _ in 0..50 {
        site.serve(500);
    }
    assert!(!site.serve(500).is_empty());
    let mut alone = Site::like(1, |shop| shop.outlier = outlier(1, 100, 0));
    assert_eq!(alone.serve(500), alone.serve(500));
}

#[test]
fn panic_brings_all_back() {
    let mut site = Site::like(4, |shop| shop.outlier = outlier(1, 75, 60));
    site.serve(500);
    assert_eq!(site.hits(300).iter().filter(|hits| **hits == 0).count(), 1);
    site.serve(500);
    assert_eq!(
        site.hits(400),
        [100; 4],
        "two of four are less than 60 percent"
    );
}

#[test]
fn an_ejected_endpoint_that_comes_back_starts_slowly() {
    let mut site = Site::like(4, |shop| {
        shop.outlier = outlier(1, 50, 0);
        shop.slow_start = Some(100.try_into().unwrap());
    });
    let gone = site.serve(500);
    let gone = site
        .shop
        .endpoints
        .iter()
        .position(|endpoint| endpoint.address == gone)
        .unwrap();
    site.pass(31);
    let early = site.hits(1_000)[gone];
    site.pass(100);
    let late = site.hits(1_000)[gone];
    assert!(early < 50 && late > 240, "{early} {late}");
}

#[test]
fn slow_start_is_for_those_that_join() {
    let mut site = Site::like(3, |shop| shop.slow_start = Some(10.try_into().unwrap()));
    assert_eq!(site.hits(300), [100; 3], "the first ones are not new");
    site.shop.endpoints.push(Endpoint::at(address(4)));
    site.publish_shop();
    let mut curve = Vec::new();
    for _ in 0..5 {
        curve.push(site.hits(1_000)[3]);
        site.pass(3);
    }
    assert!(
        curve.is_sorted() && curve[0] < 50 && curve[4] == 250,
        "{curve:?}"
    );
}

#[test]
fn response_times_decide_and_belong_to_the_endpoint_that_answered() {
    for load_balance in [LoadBalance::named("ewma"), LoadBalance::named("peak_ewma")] {
        let mut site = Site::like(2, |shop| shop.load_balance = load_balance);
        for _ in 0..20 {
            let sent = site.send(&Headers::default());
            let first = sent.first().to_owned();
            let millis = if first == address(1) { 500 } else { 5 };
            let outcome = Outcome {
                endpoint: Some(&first),
                status: Some(200),
                response_time: Some(Duration::from_millis(millis)),
                attempts: 1,
            };
            site.tables
                .complete(sent.token.unwrap(), Some(&outcome), site.now);
        }
        for _ in 0..20 {
            let sent = site.send(&Headers::default());
            assert_eq!(sent.first(), address(2));
            site.tables.complete(sent.token.unwrap(), None, site.now);
        }
    }
}

#[test]
fn zones_come_first_and_fail_open() {
    let mut site = Site::new(4);
    for (endpoint, zone) in site.shop.endpoints.iter_mut().zip(["a", "b", "a", "b"]) {
        endpoint.zones = vec![zone.into()];
    }
    site.shop.prefer_zone = true;
    site.shop.outlier = outlier(1, 50, 0);
    site.tables.set_zone(Some("a".into()));
    site.publish();
    assert_eq!(site.hits(100), [50, 0, 50, 0]);
    let sent = site.send(&Headers::default());
    assert!(
        sent.candidates[2] == address(2) || sent.candidates[2] == address(4),
        "then the other zone: {sent:?}"
    );
    site.serve(500);
    site.serve(500);
    assert_eq!(site.hits(100), [0, 50, 0, 50], "the whole zone is ejected");
}

#[test]
fn draining_endpoints_get_nothing_new_unless_all_drain() {
    let mut site = Site::new(3);
    site.shop.endpoints[0].draining = true;
    site.publish_shop();
    assert_eq!(site.hits(100), [0, 50, 50]);
    site.shop
        .endpoints
        .iter_mut()
        .for_each(|endpoint| endpoint.draining = true);
    site.publish_shop();
    assert_eq!(site.hits(300), [100; 3]);
}
