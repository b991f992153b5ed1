//! Hosts, paths, headers and texts, ordinary ones and such that are as long as may be.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use sluice_tests::hostile::TEXTS;

use crate::patterns;

/// Of a few hosts, so that Ingresses meet.
const HOSTS: &[&str] = &[
    "shop.test",
    "www.shop.test",
    "*.shop.test",
    "a.shop.test",
    "SHOP.test",
    "*.a.shop.test",
    "login.test",
    "",
    "localhost",
    "*.test",
    "1.2.3.4",
    "xn--bcher-kva.test",
    "kiosk.sks.test",
];

/// Reserved paths, and similar ones.
const PATHS: &[&str] = &[
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/A",
    "/api/v1",
    "/api.v1",
    "/a%2fb",
    "/a%20b",
    "/~x",
    "/a;b=c",
    "/(a)",
    "/a+b",
    "/$1",
    "/a(b",
    "/a{2",
    "/[",
    "/*",
    "/_sluice_auth",
    "/sluice_auth",
    "/_sluice_mirror",
    "/v1/authorize",
    "/@sluice_502",
    "",
    "//",
    "/a//b",
    "/./a",
    "/../a",
    "/:a",
    "/%zz",
    "/.well-known/acme-challenge/x",
];

/// Around the limits that there are.
const LENGTHS: &[usize] = &[
    63, 64, 253, 254, 256, 257, 400, 999, 1000, 1990, 2000, 2001, 3990, 4000, 4095, 4096, 4097,
    20_000,
];

pub(crate) fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(HOSTS).prop_map(str::to_owned),
        1 => (1..64usize, 1..6usize).prop_map(|(length, labels)| vec!["s".repeat(length); labels].join(".")),
        1 => (1..127usize).prop_map(|labels| vec!["k"; labels].join(".")),
        1 => (1..64usize, 1..6usize).prop_map(|(length, labels)| format!("*.{}", vec!["k".repeat(length); labels].join("."))),
        1 => select(TEXTS).prop_map(str::to_owned),
    ]
}

pub(crate) fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(PATHS).prop_map(str::to_owned),
        3 => patterns::path(),
        1 => (select(&["a", "s", "a/", "a.b", "(", "-"][..]), select(LENGTHS))
            .prop_map(|(part, length)| format!("/{}", part.repeat(length / part.len()))),
        1 => select(TEXTS).prop_map(str::to_owned),
    ]
}

/// A text that is long, of something that is usual otherwise.
pub(crate) fn long() -> impl Strategy<Value = String> {
    let part = select(
        &[
            "a",
            "%",
            "\"",
            "\\",
            "$",
            "$host",
            "${http_x}",
            " ",
            "é",
            "a,",
            "/a",
            "&a=b",
        ][..],
    );
    (part, select(LENGTHS)).prop_map(|(part, length)| part.repeat(length / part.len()))
}

pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![2 => select(TEXTS).prop_map(str::to_owned), 1 => long()]
}

/// Names of headers: also such as a data plane does not let anybody set.
pub(crate) const HEADERS: &[&str] = &[
    "X-A",
    "x-a",
    "X_A",
    "Host",
    "host",
    ":path",
    ":authority",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Upgrade",
    "TE",
    "Trailer",
    "Keep-Alive",
    "Set-Cookie",
    "Server",
    "Date",
    "Via",
    "Route",
    "Authorization",
    "Cookie",
    "Content-Type",
    "X-Forwarded-For",
    "X-Real-IP",
    "X-Request-ID",
    "x-sluice-error",
    "x-sluice-path",
    "x-sluice-scope",
    "x-sluice-trust",
    "x-envoy-max-retries",
    "Strict-Transport-Security",
    "Access-Control-Allow-Origin",
    "a b",
    "",
    "x-",
    "1",
    "Proxy",
];

pub(crate) fn header_name() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(HEADERS).prop_map(str::to_owned),
        1 => select(&[46usize, 47, 100, 255, 256, 257][..]).prop_map(|length| "x".repeat(length)),
    ]
}

/// The data of a ConfigMap with headers.
pub(crate) fn header_map() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        4 => select(&["1", "a b", "", "$remote_addr", "$http_x_a$host", "100%", "%REQ(host)%", "\"q\"", "a\\b", "$cookie_a"][..])
            .prop_map(str::to_owned),
        1 => any_text(),
    ];
    let pairs = prop::collection::vec((header_name(), value), 0..8);
    pairs.prop_map(|pairs| {
        pairs
            .into_iter()
            .map(|(name, value)| (name, json!(value)))
            .collect()
    })
}
