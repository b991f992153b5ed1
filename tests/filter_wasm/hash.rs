//! Hash keys of requests, on each host.

use sluice_filter_config::{HashKey, LoadBalance, Route};

use sluice_tests::fake::{BACKEND, Filter, Outcome, Personality, ROUTE, backend, snapshot};

use crate::in_both;

fn hashing(personality: Personality, expression: &str) -> Filter {
    let (key, unknown) = HashKey::parse(expression);
    assert_eq!(unknown, []);
    let mut backend = backend(&["10.184.7.40:8080", "10.184.7.41:8080"]);
    backend.load_balance = LoadBalance::chash(key);
    Filter::with(
        personality,
        snapshot(
            1,
            Route::to(BACKEND),
            [(BACKEND.to_owned(), backend)].into(),
        ),
    )
}

fn first(filter: &mut Filter, headers: &[(&str, &str)]) -> String {
    let (_, outcome) = filter.request_with_headers(Some(ROUTE), headers);
    let Outcome::Forwarded(list) = outcome else {
        panic!("{outcome:?}")
    };
    list.split(',').next().unwrap().to_owned()
}

#[test]
fn keys_fall_where_ingress_nginx_puts_them_and_retries_go_to_the_other() {
    in_both(|personality| {
        let mut filter = hashing(personality, "$http_x_key");
        for (key, pod) in [
            ("/", 41),
            ("/index.html", 40),
            ("user-1", 41),
            ("192.168.1.1", 41),
        ] {
            assert_eq!(
                first(&mut filter, &[("x-key", key)]),
                format!("10.184.7.{pod}:8080"),
                "{key}"
            );
        }
        let (_, outcome) = filter.request_with_headers(Some(ROUTE), &[("x-key", "/")]);
        let expected = "10.184.7.41:8080,10.184.7.40:8080,10.184.7.41:8080";
        assert_eq!(outcome, Outcome::Forwarded(expected.to_owned()));
    });
}

#[test]
fn several_headers_and_literals_make_one_key() {
    in_both(|personality| {
        let mut filter = hashing(personality, "$http_a${http_b}$cookie_c-1");
        let headers = [("a", "u"), ("b", "se"), ("cookie", "x=y; c=r")];
        if personality == Personality::Nginx {
            // nginx has the variable itself.
            let mut one = hashing(personality, "$http_a${http_b}-1");
            assert_eq!(
                first(&mut one, &[("a", "us"), ("b", "er")]),
                "10.184.7.41:8080"
            );
            return;
        }
        assert_eq!(first(&mut filter, &headers), "10.184.7.41:8080", "user-1");
    });
}

#[test]
fn a_host_without_the_variable_hashes_by_nothing() {
    in_both(|personality| {
        let mut filter = hashing(personality, "$remote_addr$http_none");
        let nothing = first(&mut filter, &[]);
        assert_eq!(first(&mut filter, &[("x-key", "/")]), nothing);
    });
}
