//! Requests of one client that are in process at a time.

use std::time::Duration;

use sluice_filter_config::{Connections, PluginConfig, Route};
use sluice_tests::fake::{
    BACKEND, FakeHost, Filter, Outcome, Personality, ROUTE, Request, SharedData, backend, snapshot,
};
use sluice_wasm_host::ContextId;

const POD: &str = "10.0.0.1:80";
const ALICE: &str = "192.0.2.1";
const BOB: &str = "192.0.2.2";
const MONITOR: &str = "10.9.9.9";
const MOST: usize = 3;

fn route() -> Route {
    let exempt = vec!["10.0.0.0/8".parse().unwrap()];
    let most = u32::try_from(MOST).unwrap().try_into().unwrap();
    let connections = Connections {
        zone: "shop/web".into(),
        most,
        status: 429,
        exempt,
    };
    Route {
        connections: Some(connections),
        ..Route::to(BACKEND)
    }
}

/// A worker of a data plane that shares this, and whose random numbers are its own.
fn worker(host: FakeHost, random: u8, route: Route, pods: &[&str]) -> Filter {
    let mut filter = Filter::on(FakeHost { random, ..host });
    let tables = snapshot(1, route, [(BACKEND.to_owned(), backend(pods))].into());
    let config = PluginConfig {
        tables: Some(tables),
        ..filter.bootstrap_config(false)
    };
    assert!(filter.configure(&config));
    filter
}

fn envoys(shared: &SharedData, random: u8) -> Filter {
    let host = FakeHost {
        shared: Some(SharedData::clone(shared)),
        ..FakeHost::new(Personality::Envoy)
    };
    worker(host, random, route(), &[POD])
}

/// Of a port that the client never had before.
fn open(filter: &mut Filter, client: &str) -> (ContextId, Outcome) {
    let mut request = Request::default();
    let port = 40_000 + filter.host().requests.len();
    request.properties.insert(
        b"source\0address".to_vec(),
        format!("{client}:{port}").into(),
    );
    filter.open_request(Some(ROUTE), request.to_pods())
}

fn served(filter: &mut Filter, client: &str) -> ContextId {
    let (id, outcome) = open(filter, client);
    assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
    id
}

fn is_refused(filter: &mut Filter, client: &str) -> bool {
    let (id, outcome) = open(filter, client);
    filter.end(id);
    outcome == Outcome::Replied(429)
}

#[test]
fn a_client_is_refused_while_as_many_as_may_be_are_in_process_in_all_workers() {
    let shared = SharedData::default();
    let mut workers = [envoys(&shared, 1), envoys(&shared, 2)];
    let held = [
        served(&mut workers[0], ALICE),
        served(&mut workers[1], ALICE),
        served(&mut workers[0], ALICE),
    ];
    for worker in &mut workers {
        assert!(
            is_refused(worker, ALICE) && is_refused(worker, ALICE),
            "those refused do not count"
        );
        assert!(!is_refused(worker, BOB) && !is_refused(worker, MONITOR));
    }
    workers[1].end(held[1]);
    assert!(!is_refused(&mut workers[0], ALICE) && !is_refused(&mut workers[1], ALICE));
}

#[test]
fn whoever_goes_away_and_whoever_no_pod_serves_counts_no_more() {
    let shared = SharedData::default();
    let mut worker = envoys(&shared, 1);
    for _ in 0..MOST * 3 {
        let id = served(&mut worker, ALICE);
        worker.end(id);
        let id = served(&mut worker, ALICE);
        worker.drop_unlogged(id);
    }
    let mut empty = worker_without_pods(&shared);
    for _ in 0..MOST * 3 {
        let (id, outcome) = open(&mut empty, ALICE);
        assert_eq!(outcome, Outcome::Replied(503));
        empty.end(id);
    }
    let all = shared.lock().unwrap();
    let counts = all
        .iter()
        .filter(|(key, _)| key.rsplit(|b| *b == b'.').next().unwrap()[0].is_ascii_digit());
    assert!(counts.map(|(_, (value, _))| value).all(Vec::is_empty));
}

fn worker_without_pods(shared: &SharedData) -> Filter {
    let host = FakeHost {
        shared: Some(SharedData::clone(shared)),
        ..FakeHost::new(Personality::Envoy)
    };
    worker(host, 9, route(), &[])
}

#[test]
fn what_a_worker_that_is_gone_had_in_process_lapses_and_what_lives_stays() {
    let shared = SharedData::default();
    let mut gone = envoys(&shared, 1);
    let (mut lives, mut asks) = (envoys(&shared, 2), envoys(&shared, 3));
    served(&mut gone, ALICE);
    served(&mut lives, ALICE);
    served(&mut asks, ALICE);
    drop(gone);
    assert!(
        is_refused(&mut asks, ALICE),
        "nobody has said that it is gone"
    );
    for _second in 0..11 {
        lives.pass(Duration::from_secs(1));
        asks.pass(Duration::from_secs(1));
    }
    served(&mut asks, ALICE);
    assert!(
        is_refused(&mut asks, ALICE) && is_refused(&mut lives, ALICE),
        "only what it had is gone"
    );
}

#[test]
fn a_request_that_is_only_sent_elsewhere_does_not_count() {
    let mut worker = envoys(&SharedData::default(), 1);
    for _ in 0..MOST * 2 {
        let mut request = Request::default();
        request
            .properties
            .insert(b"source\0address".to_vec(), format!("{ALICE}:40000").into());
        assert_ne!(
            worker.open_request(Some(ROUTE), request).1,
            Outcome::Replied(429)
        );
    }
}

#[test]
fn a_host_outside_of_the_cluster_is_guarded_too_and_left_to_the_data_plane() {
    let shared = SharedData::default();
    let host = FakeHost {
        shared: Some(shared),
        ..FakeHost::new(Personality::Envoy)
    };
    let outside = Route {
        backend: "outside".into(),
        ..route()
    };
    let mut worker = worker(host, 1, outside, &[POD]);
    for _ in 0..MOST {
        assert_eq!(open(&mut worker, ALICE).1, Outcome::LeftAlone);
    }
    assert!(is_refused(&mut worker, ALICE));
    assert_eq!(
        worker.host().counters[b"sluice.unknown_routes".as_slice()],
        0
    );
}

#[test]
fn a_host_that_shares_nothing_serves_all_and_says_so_once() {
    let host = FakeHost {
        shared: None,
        ..FakeHost::new(Personality::Envoy)
    };
    let mut worker = worker(host, 1, route(), &[POD]);
    for _ in 0..MOST * 2 {
        served(&mut worker, ALICE);
    }
    let said = worker
        .host()
        .log
        .iter()
        .filter(|line| line.contains("the host shares no data"))
        .count();
    assert_eq!(said, 1);
}

#[test]
fn nginx_counts_by_itself_and_the_filter_asks_it_nothing() {
    let mut worker = worker(FakeHost::new(Personality::Nginx), 1, route(), &[POD]);
    for _ in 0..MOST * 2 {
        let before = worker.host().reads;
        served(&mut worker, ALICE);
        assert_eq!(
            worker.host().reads,
            before + 1,
            "one property for a request: its location"
        );
    }
}

#[test]
fn a_route_without_a_limit_asks_the_host_nothing_more() {
    let shared = SharedData::default();
    let host = FakeHost {
        shared: Some(SharedData::clone(&shared)),
        ..FakeHost::new(Personality::Envoy)
    };
    let mut worker = worker(host, 1, Route::to(BACKEND), &[POD]);
    let before = worker.host().reads;
    let id = served(&mut worker, ALICE);
    worker.end(id);
    assert_eq!(worker.host().reads, before + 1, "its location");
    assert!(shared.lock().unwrap().is_empty());
}
