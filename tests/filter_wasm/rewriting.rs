//! Rewriting of `Location`, `Refresh` and cookies in pods' responses.

use std::time::Duration;

use sluice_filter_config::{
    Affinity, AffinityMode, Cookie, HashKey, Replaced, ReplacedText, Rewriting, Route,
};
use sluice_tests::fake::{BACKEND, Filter, Personality, ROUTE, backend, snapshot};
use sluice_wasm_host::ContextId;

const POD: &str = "10.0.0.1:80";
const QUICK: Duration = Duration::from_millis(5);

fn replaced(from: &str, to: &str) -> Option<Replaced> {
    let key = |text| HashKey::parse(text).0;
    Some(Replaced::Text(ReplacedText {
        from: key(from),
        to: key(to),
    }))
}

/// Sessions begin here, too.
fn location() -> Route {
    let rewriting = Rewriting {
        redirects: replaced("http://pod/", "$http_x_forwarded_proto://$http_host/"),
        cookie_domains: replaced("pod", "shop.example"),
        cookie_paths: replaced("/", "/shop/"),
    };
    Route {
        rewriting: Some(rewriting),
        session_path: Some("/".into()),
        ..Route::to(BACKEND)
    }
}

fn filter(personality: Personality, location: Route) -> Filter {
    let mut backend = backend(&[POD]);
    let cookie = Cookie {
        name: "route".into(),
        ..Cookie::default()
    };
    backend.affinity = Some(Affinity {
        mode: AffinityMode::Persistent,
        cookie,
        change_on_failure: false,
    });
    Filter::with(
        personality,
        snapshot(1, location, [(BACKEND.to_owned(), backend)].into()),
    )
}

/// A request that this is the answer of, by this endpoint; its headers as the client sees them.
fn answer(filter: &mut Filter, headers: &[(&str, &str)], endpoint: &str) -> Vec<(String, String)> {
    let asked = [
        (":authority", "shop.example"),
        ("x-forwarded-proto", "https"),
    ];
    let (id, _) = filter.open(Some(ROUTE), &asked);
    let pair = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    of(filter, id).extend(headers.iter().map(pair));
    filter.answer_client(id, &[(endpoint, 302)], QUICK);
    filter.end(id);
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    of(filter, id)
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

fn of(filter: &mut Filter, id: ContextId) -> &mut Vec<(Vec<u8>, Vec<u8>)> {
    &mut filter
        .vm
        .env_mut()
        .requests
        .get_mut(&id)
        .unwrap()
        .response_headers
}

fn named<'a>(headers: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    headers
        .iter()
        .filter(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
        .collect()
}

const ANSWER: &[(&str, &str)] = &[
    ("location", "http://pod/login"),
    ("refresh", "1;url=http://pod/"),
    ("set-cookie", "a=1; Domain=pod"),
    ("set-cookie", "b=1"),
    ("set-cookie", "c=1; Path=/x"),
    ("x-other", "http://pod/"),
];

#[test]
fn envoys_clients_see_what_the_rules_say_and_cookies_keep_their_order() {
    let mut filter = filter(Personality::Envoy, location());
    let seen = answer(&mut filter, ANSWER, POD);
    assert_eq!(named(&seen, "location"), ["https://shop.example/login"]);
    assert_eq!(named(&seen, "refresh"), ["1;url=https://shop.example/"]);
    assert_eq!(named(&seen, "x-other"), ["http://pod/"]);
    let cookies = named(&seen, "set-cookie");
    assert_eq!(
        cookies[..3],
        ["a=1; Domain=shop.example", "b=1", "c=1; Path=/shop/x"]
    );
    assert!(
        cookies[3].ends_with("; Path=/; HttpOnly"),
        "the filter's own cookie stays as it is: {cookies:?}"
    );
    assert_eq!(cookies.len(), 4);
}

#[test]
fn what_no_pod_answered_stays_as_it_is() {
    let mut filter = filter(Personality::Envoy, location());
    let seen = answer(&mut filter, ANSWER, "");
    assert_eq!(named(&seen, "location"), ["http://pod/login"]);
    assert_eq!(
        named(&seen, "set-cookie"),
        ["a=1; Domain=pod", "b=1", "c=1; Path=/x"]
    );
}

#[test]
fn nginx_does_it_itself() {
    let mut filter = filter(Personality::Nginx, location());
    let seen = answer(&mut filter, ANSWER, POD);
    assert_eq!(named(&seen, "location"), ["http://pod/login"]);
    assert_eq!(
        named(&seen, "set-cookie")[..3],
        ["a=1; Domain=pod", "b=1", "c=1; Path=/x"]
    );
}

#[test]
fn a_host_outside_of_the_cluster_is_a_pod_like_any_other() {
    let outside = Route {
        backend: "outside".into(),
        ..location()
    };
    let seen = answer(
        &mut filter(Personality::Envoy, outside),
        ANSWER,
        "192.0.2.1:443",
    );
    assert_eq!(named(&seen, "location"), ["https://shop.example/login"]);
}

#[test]
fn only_a_route_with_rules_asks_the_host_for_more() {
    let reads = |location: Route| {
        let mut filter = filter(
            Personality::Envoy,
            Route {
                session_path: None,
                ..location
            },
        );
        let before = filter.host().reads;
        answer(&mut filter, ANSWER, POD);
        filter.host().reads - before
    };
    let without = reads(Route {
        rewriting: None,
        ..location()
    });
    let fixed = Rewriting {
        redirects: replaced("http://pod/", "/"),
        ..Rewriting::default()
    };
    assert_eq!(
        reads(Route {
            rewriting: Some(fixed),
            ..location()
        }),
        without + 2,
        "who answered, and what"
    );
}
