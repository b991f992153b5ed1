//! Cookies in and out.

use std::time::Duration;

use sluice_filter_config::{Affinity, AffinityMode, Cookie, Route, SameSite};

use sluice_tests::fake::{BACKEND, Filter, Outcome, Personality, ROUTE, backend, snapshot};

use crate::in_both;

const POD_1: &str = "10.0.0.1:80";
const POD_2: &str = "10.0.0.2:80";
const QUICK: Duration = Duration::from_millis(5);
const MODES: [AffinityMode; 2] = [AffinityMode::Balanced, AffinityMode::Persistent];

fn sticky(
    personality: Personality,
    mode: AffinityMode,
    change: impl FnOnce(&mut Affinity),
) -> Filter {
    let cookie = Cookie {
        name: "route".into(),
        max_age: Some(60),
        ..Cookie::default()
    };
    let mut affinity = Affinity {
        mode,
        cookie,
        change_on_failure: false,
    };
    change(&mut affinity);
    let mut backend = backend(&[POD_1, POD_2, "10.0.0.3:80"]);
    backend.affinity = Some(affinity);
    let route = Route {
        session_path: Some("/shop".into()),
        ..Route::to(BACKEND)
    };
    Filter::with(
        personality,
        snapshot(1, route, [(BACKEND.to_owned(), backend)].into()),
    )
}

fn candidates(outcome: &Outcome) -> Vec<String> {
    let Outcome::Forwarded(list) = outcome else {
        panic!("{outcome:?}")
    };
    list.split(',').map(str::to_owned).collect()
}

/// One request; its first candidate answers. Who that was, and the cookies that were set.
fn visit(filter: &mut Filter, headers: &[(&str, &str)]) -> (String, Vec<String>) {
    let (id, outcome) = filter.open(Some(ROUTE), headers);
    let first = candidates(&outcome).remove(0);
    let cookies = filter.answer_client(id, &[(&first, 200)], QUICK);
    filter.end(id);
    (first, cookies)
}

fn pair(cookies: &[String]) -> String {
    cookies[0].split(';').next().unwrap().to_owned()
}

#[test]
fn a_client_without_a_cookie_gets_one_that_brings_it_back() {
    in_both(|personality| {
        for mode in MODES {
            let mut filter = sticky(personality, mode, |_| {});
            for _ in 0..10 {
                let (home, cookies) = visit(&mut filter, &[]);
                assert_eq!(cookies.len(), 1);
                assert!(
                    cookies[0].ends_with("; Max-Age=60; Path=/shop; HttpOnly"),
                    "{cookies:?}"
                );
                let back = visit(&mut filter, &[("cookie", &pair(&cookies))]);
                assert_eq!(back, (home, vec![]), "{mode:?}");
            }
        }
    });
}

#[test]
fn the_cookie_names_the_endpoint_that_answered() {
    in_both(|personality| {
        for mode in MODES {
            let mut filter = sticky(personality, mode, |affinity| {
                affinity.change_on_failure = true;
            });
            let (id, outcome) = filter.open(Some(ROUTE), &[]);
            let tried = candidates(&outcome);
            let cookies = filter.answer_client(id, &[(&tried[0], 502), (&tried[1], 200)], QUICK);
            filter.end(id);
            let back = visit(&mut filter, &[("cookie", &pair(&cookies))]);
            assert_eq!(back, (tried[1].clone(), vec![]), "{mode:?}");
        }
    });
}

#[test]
fn tls_makes_it_secure_and_old_browsers_get_no_same_site_none() {
    in_both(|personality| {
        let mut filter = sticky(personality, AffinityMode::Persistent, |affinity| {
            affinity.cookie.same_site = Some(SameSite::None);
            affinity.cookie.conditional_same_site_none = true;
        });
        let old = "Mozilla/5.0 (X11; Linux x86_64) Chrome/51.0.2704.103 Safari/537.36";
        for (user_agent, expected) in [
            ("curl/8", "; Secure; HttpOnly; SameSite=None"),
            (old, "; Secure; HttpOnly"),
        ] {
            let (id, outcome) = filter.open(Some(ROUTE), &[("user-agent", user_agent)]);
            let request = filter.vm.env_mut().requests.get_mut(&id).unwrap();
            let (path, value) = match personality {
                Personality::Envoy => ("connection\0tls_version", "TLSv1.3"),
                Personality::Nginx => ("ngx.https", "on"),
            };
            request.properties.insert(path.into(), value.into());
            let first = candidates(&outcome).remove(0);
            let cookies = filter.answer_client(id, &[(&first, 200)], QUICK);
            assert!(cookies[0].ends_with(expected), "{cookies:?}");
            filter.end(id);
        }
    });
}

#[test]
fn a_response_that_no_endpoint_gave_sets_no_cookie() {
    in_both(|personality| {
        let mut filter = sticky(personality, AffinityMode::Balanced, |_| {});
        let (id, _) = filter.open(Some(ROUTE), &[]);
        let cookies = filter.answer_client(id, &[("", 503)], QUICK);
        assert!(cookies.is_empty());
        filter.end(id);
    });
}

#[test]
fn a_session_that_begins_while_the_tables_are_awaited_gets_its_cookie_too() {
    in_both(|personality| {
        let mut filter = Filter::polling(personality);
        let (id, outcome) = filter.open(Some(ROUTE), &[]);
        assert_eq!(outcome, Outcome::Paused);
        let mut backend = backend(&[POD_1]);
        let cookie = Cookie {
            name: "route".into(),
            ..Cookie::default()
        };
        let mode = AffinityMode::Persistent;
        backend.affinity = Some(Affinity {
            mode,
            cookie,
            change_on_failure: false,
        });
        let route = Route {
            session_path: Some("/".into()),
            ..Route::to(BACKEND)
        };
        filter.answer_tables(snapshot(1, route, [(BACKEND.to_owned(), backend)].into()));
        assert_eq!(filter.fate(id), Outcome::Forwarded(POD_1.to_owned()));
        assert_eq!(filter.answer_client(id, &[(POD_1, 200)], QUICK).len(), 1);
        filter.end(id);
    });
}
