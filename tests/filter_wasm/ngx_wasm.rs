//! Kong's ngx_wasm_module, where it differs from our own host for nginx: only the answer of its own call resumes a request
//! that waits, a retry is a context of its own, and what would end a worker there is not done.

use std::time::Duration;

use sluice_filter_config::{Affinity, AffinityMode, Cookie, Host, PluginConfig, Route};
use sluice_tests::fake::{
    BACKEND, Filter, Outcome, Personality, ROUTE, Request, backend, snapshot, tables,
};

const QUICK: Duration = Duration::from_millis(5);

/// A filter that is told where the log is.
fn configured(mut filter: Filter) -> Filter {
    let bootstrap_config = PluginConfig {
        host: Some(Host::NgxWasm),
        ..filter.bootstrap_config(true)
    };
    assert!(filter.configure(&bootstrap_config));
    filter
}

/// A filter that follows the log, and has sent its first poll.
fn polling() -> Filter {
    let mut filter = configured(Filter::new(Personality::Nginx));
    filter.tick();
    assert_eq!(filter.calls().len(), 1);
    filter
}

#[test]
fn a_poll_goes_out_with_the_next_tick_and_never_with_an_answer() {
    let mut filter = polling();
    filter.answer_tables(tables(1, &["10.0.0.1:80"]));
    assert_eq!(filter.calls().len(), 1, "a worker dies of it");
    filter.tick();
    assert!(
        filter.calls()[1]
            .path
            .starts_with("/v1/plugin-config?since=1-"),
        "{:?}",
        filter.calls()
    );
}

#[test]
fn after_a_trap_the_first_ticks_are_those_of_the_vm_before() {
    let mut filter = configured(Filter::replacing(Personality::Nginx));
    filter.tick();
    assert_eq!(filter.calls().len(), 0, "a second trap");
    filter.tick();
    assert_eq!(filter.calls().len(), 1);
}

#[test]
fn no_metric_is_defined() {
    let filter = polling();
    assert!(
        filter.host().counters.is_empty(),
        "a worker dies of it where nginx.conf names no number of them"
    );
}

#[test]
fn a_request_that_waits_asks_for_itself_and_resumes_no_other() {
    let mut filter = polling();
    let (first, outcome) = filter.open(Some(ROUTE), &[]);
    assert_eq!(outcome, Outcome::Paused);
    let (second, _) = filter.open(Some(ROUTE), &[]);
    assert_eq!(filter.calls().len(), 3, "one of each");
    assert_eq!(filter.calls()[2].path, "/v1/plugin-config");

    let document = PluginConfig::with_tables(tables(1, &["10.0.0.1:80"])).to_json();
    filter.answer_call(1, Some(first), 200, &document);
    assert_eq!(filter.host().choice(first).as_deref(), Some("10.0.0.1:80"));
    assert_eq!(filter.host().choice(second), None);
    // The tables are there by now.
    filter.answer_call(2, Some(second), 200, b"not read");
    assert_eq!(filter.host().choice(second).as_deref(), Some("10.0.0.1:80"));
    assert!(
        !filter.host().requests[&first].resumed,
        "the host does that"
    );
}

#[test]
fn a_client_that_goes_away_while_it_asks_is_forgotten() {
    let mut filter = polling();
    let (gone, _) = filter.open(Some(ROUTE), &[]);
    filter.end(gone);
    filter.answer_call(
        1,
        None,
        200,
        &PluginConfig::with_tables(tables(1, &["10.0.0.1:80"])).to_json(),
    );
    assert_eq!(filter.host().choice(gone), None);
}

#[test]
fn a_retry_in_a_context_of_its_own_goes_on_with_what_was_decided() {
    let mut filter = polling();
    let cookie = Cookie {
        name: "route".into(),
        ..Cookie::default()
    };
    let affinity = Affinity {
        mode: AffinityMode::Balanced,
        cookie,
        change_on_failure: false,
    };
    let mut sticky = backend(&["10.0.0.1:80", "10.0.0.2:80"]);
    sticky.affinity = Some(affinity);
    let route = Route {
        session_path: Some("/".into()),
        ..Route::to(BACKEND)
    };
    filter.answer_tables(snapshot(1, route, [(BACKEND.to_owned(), sticky)].into()));

    let (first, outcome) = filter.open(Some(ROUTE), &[]);
    let Outcome::Forwarded(candidates) = outcome else {
        panic!("{outcome:?}")
    };
    let [failed, answers, ..] = candidates.split(',').collect::<Vec<_>>()[..] else {
        panic!("{candidates}")
    };
    // nginx's variables belong to the request, whatever its contexts.
    let properties = filter.host().requests[&first].properties.clone();
    let (retry, _) = filter.open_request(
        Some(""),
        Request {
            properties,
            ..Request::default()
        },
    );
    assert_eq!(
        filter.host().choice(retry).as_deref(),
        Some(candidates.as_str()),
        "nothing is decided again"
    );
    let cookies = filter.answer_client(retry, &[(failed, 502), (answers, 200)], QUICK);
    assert_eq!(cookies.len(), 1, "the session begins where it was answered");
    filter.end(retry);
    filter.drop_unlogged(first);
}
