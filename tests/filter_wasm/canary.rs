//! Canaries: the choice of the backend.

use sluice_filter_config::{Canary, HeaderMatch, HeaderRule, Route, Share};

use sluice_tests::fake::{BACKEND, Filter, Personality, ROUTE, backend, snapshot};

use crate::in_both;

const CANARY: &str = "ns/canary/80";

fn with(personality: Personality, canary: Canary) -> Filter {
    let canary = Canary {
        backend: CANARY.into(),
        ..canary
    };
    let route = Route {
        canaries: vec![canary],
        ..Route::to(BACKEND)
    };
    let backends = [
        (BACKEND.to_owned(), backend(&["10.0.0.1:80"])),
        (CANARY.to_owned(), backend(&["10.9.0.1:80"])),
    ];
    Filter::with(personality, snapshot(1, route, backends.into()))
}

fn header(values: HeaderMatch) -> Canary {
    Canary {
        header: Some(HeaderRule {
            name: "X-Region".into(),
            values,
        }),
        ..Canary::default()
    }
}

/// Returns `true` if the canary is chosen; the candidates and the named backend must agree.
fn takes(filter: &mut Filter, headers: &[(&str, &str)]) -> bool {
    let (id, _) = filter.request_with_headers(Some(ROUTE), headers);
    let (backend, choice) = (
        filter.host().backend(id).unwrap(),
        filter.host().choice(id).unwrap(),
    );
    assert_eq!(
        choice.starts_with("10.9."),
        backend == CANARY,
        "{choice} {backend}"
    );
    backend == CANARY
}

#[test]
fn header_cookie_and_weight_choose_the_backend() {
    in_both(|personality| {
        let mut filter = with(personality, header(HeaderMatch::Pattern("^eu-".into())));
        assert!(takes(&mut filter, &[("x-region", "eu-west")]));
        assert!(!takes(&mut filter, &[("x-region", "us-eu-")]));
        let mut filter = with(
            personality,
            Canary {
                cookie: Some("beta".into()),
                ..header(HeaderMatch::Switch)
            },
        );
        assert!(takes(&mut filter, &[("cookie", "a=b; beta=always")]));
        assert!(!takes(
            &mut filter,
            &[("cookie", "beta=always"), ("x-region", "never")]
        ));
        assert!(!takes(&mut filter, &[]));
        let mut filter = with(
            personality,
            Canary {
                weight: Some(Share {
                    weight: 30,
                    total: 100,
                }),
                ..Canary::default()
            },
        );
        let taken = (0..1_000).filter(|_| takes(&mut filter, &[])).count();
        assert!((230..370).contains(&taken), "{taken}");
    });
}

#[test]
fn a_route_without_canaries_names_no_backend() {
    in_both(|personality| {
        let mut filter = Filter::with(personality, sluice_tests::fake::tables(1, &["10.0.0.1:80"]));
        let (id, _) = filter.request(Some(ROUTE));
        assert_eq!(filter.host().backend(id), None);
    });
}

#[test]
fn a_client_cannot_choose_its_backend() {
    let mut filter = with(Personality::Envoy, header(HeaderMatch::Switch));
    assert!(!takes(&mut filter, &[("x-sluice-cluster", CANARY)]));
    let (id, _) = filter.request_with_headers(Some("unknown/"), &[("x-sluice-cluster", CANARY)]);
    assert_eq!(filter.host().backend(id), None);
}

#[test]
fn an_nginx_that_declares_no_variable_for_it_is_served_all_the_same() {
    let mut filter = with(Personality::Nginx, header(HeaderMatch::Switch));
    filter
        .vm
        .env_mut()
        .undeclared
        .push(b"ngx.sluice_backend".to_vec());
    let (id, _) = filter.request_with_headers(Some(ROUTE), &[]);
    assert_eq!(filter.host().choice(id).as_deref(), Some("10.0.0.1:80"));
}
