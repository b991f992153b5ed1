//! R5: what one request, or one document, costs the filter is bounded, whatever tenants and clients write.
//!
//! Counted in instructions of the shipped wasm, so no machine is too slow for it. docs/limits.md has the numbers; they are
//! printed with `--no-capture`.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::time::Duration;

use sluice_filter_config::{
    Affinity, AffinityMode, Backend, Canary, Cookie, HashKey, HeaderMatch, HeaderRule,
    LARGEST_PATTERN, LoadBalance, MOST_MATCHING, MOST_VARIABLES, Replaced, ReplacedPattern,
    Rewriting, Route, SubstitutionPart, Tables,
};
use sluice_filter_core::Pattern;
use sluice_tests::fake::{BACKEND, Filter, Personality, ROUTE, backend, snapshot};

/// No request takes more: tens of milliseconds of native code, where everything is as large as it may be.
const MAX_INSTRUCTIONS: u64 = 100_000_000;
/// Memory limit of the filter in our nginx module (`nginx-wasm/module`).
const MEMORY_LIMIT: usize = 256 << 20;
/// Of one route; the translator reports more (`servers/canary.rs`).
const MAX_CANARIES: usize = 16;

fn metered(route: Route, backend: Backend) -> Filter {
    let tables: Tables = snapshot(1, route, BTreeMap::from([(BACKEND.to_owned(), backend)]));
    Filter::metered(Personality::Envoy, tables, MEMORY_LIMIT)
}

/// Instructions of one request with these headers, once everything that is made once is made.
#[allow(
    clippy::print_stdout,
    reason = "the numbers of docs/limits.md, for who asks with --no-capture"
)]
fn cost(what: &str, filter: &mut Filter, headers: &[(&str, &str)]) -> u64 {
    let mut ask = || {
        filter.instructions(|filter| {
            filter.request_with_headers(Some(ROUTE), headers);
        })
    };
    ask();
    let cost = ask();
    println!("{what}: {cost} instructions");
    cost
}

#[track_caller]
fn ensure_bounded(what: &str, filter: &mut Filter, headers: &[(&str, &str)]) {
    let cost = cost(what, filter, headers);
    assert!(cost < MAX_INSTRUCTIONS, "{what}: {cost} instructions");
}

fn backend_with_pods(count: u32) -> Backend {
    let pods: Vec<String> = (0..count)
        .map(|n| format!("10.{}.{}.{}:8080", n >> 16, (n >> 8) & 255, n & 255))
        .collect();
    backend(&pods.iter().map(String::as_str).collect::<Vec<_>>())
}

fn backend_hashed_by(key: &str) -> Backend {
    let (key, _) = HashKey::parse(key);
    Backend {
        load_balance: LoadBalance::chash(key),
        ..backend_with_pods(3)
    }
}

fn canary() -> Canary {
    Canary {
        backend: BACKEND.into(),
        ..Canary::default()
    }
}

fn location_with_canaries(canaries: Vec<Canary>) -> Route {
    Route {
        canaries,
        ..Route::to(BACKEND)
    }
}

fn canary_by_pattern(pattern: &str) -> Canary {
    let header = HeaderRule {
        name: "x-canary".into(),
        values: match Pattern::backtracking(pattern, false) {
            Ok(_) => HeaderMatch::Backtracking(pattern.into()),
            Err(_) => HeaderMatch::Pattern(pattern.into()),
        },
    };
    Canary {
        header: Some(header),
        ..canary()
    }
}

#[test]
fn cost_of_canary_patterns_is_bounded() {
    // As long as the value may be for each size of a program, and far too long.
    let shortest = MOST_MATCHING / LARGEST_PATTERN;
    let lengths = || (0..5).map(|n| shortest << n).chain([64 << 10]);
    // What backtracks, what has as many states at once as there are characters, and what is too large.
    for pattern in [
        "(a+)+$",
        "(a|a)*b",
        "(a?){20}a{20}$",
        "(a?){60}a{60}$",
        "(.*.*.*.*){9}x",
        "a{200}b",
        "(a{50}){50}",
        "(a+)+$(?!a)",
        "(?=(a|a)*b)",
        "(?:(a*)*)*(?<=b)",
        r"(a*)*\1+b",
        "(?!.*.*.*.*b).*.*.*b",
        "(?>(a)|(a)|(a))*+b",
    ] {
        for count in [1, MAX_CANARIES] {
            let mut filter = metered(
                location_with_canaries(vec![canary_by_pattern(pattern); count]),
                backend_with_pods(2),
            );
            for length in lengths().map(|length| length / count).chain([64 << 10]) {
                let what = format!("{count} canaries with {pattern} on {length} bytes");
                ensure_bounded(&what, &mut filter, &[("x-canary", &"a".repeat(length))]);
            }
        }
    }
}

/// Redirects and both attributes of cookies, each by this pattern.
fn location_with_response_pattern(pattern: &str) -> Route {
    let replaced = Replaced::Pattern(ReplacedPattern {
        pattern: pattern.into(),
        any_case: true,
        backtracking: Pattern::backtracking(pattern, true).is_ok(),
        to: (1..=9).map(SubstitutionPart::Group).collect(),
    });
    Route {
        rewriting: Some(Rewriting {
            redirects: Some(replaced.clone()),
            cookie_domains: Some(replaced.clone()),
            cookie_paths: Some(replaced),
        }),
        ..Route::to(BACKEND)
    }
}

/// Instructions of a request whose pod answers with values of this length, as many as come to 60 KiB.
#[allow(
    clippy::print_stdout,
    reason = "the numbers of docs/limits.md, for who asks with --no-capture"
)]
fn ensure_bounded_response(pattern: &str, filter: &mut Filter, length: usize) {
    let value = "a".repeat(length);
    let headers = ["location", "refresh", "set-cookie"]
        .into_iter()
        .map(|name| match name {
            "refresh" => (name, format!("1;url={value}")),
            "set-cookie" => (name, format!("a=1; domain={value}; path={value}")),
            name => (name, value.clone()),
        });
    let mut headers: Vec<_> = headers.collect();
    let cookie = headers.remove(2);
    headers.extend(std::iter::repeat_n(cookie, (60 << 10) / (2 * length)));
    let cost = filter.instructions(|filter| {
        let (id, _) = filter.open(Some(ROUTE), &[]);
        let pair =
            |(name, value): &(&str, String)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let request = filter.vm.env_mut().requests.get_mut(&id);
        let answered = &mut request.expect("an open request").response_headers;
        answered.extend(headers.iter().map(pair));
        filter.answer_client(id, &[("10.0.0.0:8080", 302)], Duration::from_millis(1));
        filter.end(id);
    });
    println!("{pattern} on values of {length} bytes: {cost} instructions");
    assert!(
        cost < MAX_INSTRUCTIONS,
        "{pattern}, {length}: {cost} instructions"
    );
}

#[test]
fn cost_of_response_patterns_is_bounded() {
    for pattern in [
        "(a+)+$",
        "(a?){20}a{20}$",
        "((a?)(a?)(a?)(a?)(a?)(a?)(a?)a?){8}a{60}$",
        "(.*.*.*.*){9}x",
        "(a)(a)(a)(a)(a)(a)(a)(a)(a{190})b",
        "(((((((((a|b)*)*)*)*)*)*)*)*)c",
        "^/(.*)$",
        r"((a+)+)\1$(?!a)",
        "(?=((a)|(a))*b)",
        r"(a*)(?:\1a)*b",
    ] {
        let shortest = MOST_MATCHING / LARGEST_PATTERN;
        for length in (0..5).map(|n| shortest << n).chain([10, 60, 20 << 10]) {
            let mut filter = metered(
                location_with_response_pattern(pattern),
                backend_with_pods(2),
            );
            ensure_bounded_response(pattern, &mut filter, length);
        }
    }
}

#[test]
fn cost_of_64_kilobyte_cookies_is_bounded() {
    let pairs = (0..8_000)
        .map(|n| format!("c{n}=x"))
        .collect::<Vec<_>>()
        .join("; ");
    let cookies = [
        ("pairs", pairs),
        ("one value", format!("a={}", "x".repeat(64 << 10))),
    ];
    let cookies = cookies
        .into_iter()
        .chain([";", "=", "; "].map(|part| (part, part.repeat((64 << 10) / part.len()))));
    let affinity = Affinity {
        cookie: Cookie {
            name: "none".into(),
            ..Cookie::default()
        },
        mode: AffinityMode::Balanced,
        change_on_failure: false,
    };
    for (name, cookie) in cookies {
        let headers = [("cookie", cookie.as_str())];
        let sticky = Backend {
            affinity: Some(affinity.clone()),
            ..backend_with_pods(3)
        };
        ensure_bounded(
            &format!("a session in {name}"),
            &mut metered(Route::to(BACKEND), sticky),
            &headers,
        );
        let key = "$cookie_none".repeat(MOST_VARIABLES);
        ensure_bounded(
            &format!("a key in {name}"),
            &mut metered(Route::to(BACKEND), backend_hashed_by(&key)),
            &headers,
        );
        let by_cookie = Canary {
            cookie: Some("none".into()),
            ..canary()
        };
        for count in [1, MAX_CANARIES] {
            let route = location_with_canaries(vec![by_cookie.clone(); count]);
            ensure_bounded(
                &format!("{count} canaries in {name}"),
                &mut metered(route, backend_with_pods(3)),
                &headers,
            );
        }
    }
}

#[test]
fn cost_of_ten_thousand_arguments_and_headers_is_bounded() {
    let arguments = format!(
        "/?{}",
        (0..10_000)
            .map(|n| format!("a{n}=x"))
            .collect::<Vec<_>>()
            .join("&")
    );
    for key in ["$arg_none", "$args", "$request_uri"] {
        for count in [1, MOST_VARIABLES] {
            let mut filter = metered(Route::to(BACKEND), backend_hashed_by(&key.repeat(count)));
            ensure_bounded(
                &format!("{count} {key} of 10,000"),
                &mut filter,
                &[(":path", &arguments)],
            );
        }
    }
    let many: Vec<(String, String)> = (0..5_000)
        .map(|n| (format!("x-{n}"), "y".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let mut filter = metered(
        Route::to(BACKEND),
        backend_hashed_by(&"$http_none".repeat(MOST_VARIABLES)),
    );
    ensure_bounded("16 headers of 5,000", &mut filter, &many);
}

#[test]
fn subset_of_65535_costs_no_more_than_the_largest_allowed() {
    let (key, _) = HashKey::parse("$http_x");
    for count in [1, 3, 5_000] {
        let load_balance = LoadBalance::chash_subset(key.clone(), NonZeroU16::MAX);
        let mut filter = metered(
            Route::to(BACKEND),
            Backend {
                load_balance,
                ..backend_with_pods(count)
            },
        );
        ensure_bounded(
            &format!("a subset of 65,535 of {count} endpoints"),
            &mut filter,
            &[("x", "y")],
        );
    }
}

#[test]
fn hundred_thousand_endpoints_fit_into_a_worker_and_picks_are_bounded() {
    for load_balance in [
        LoadBalance::round_robin(),
        LoadBalance::named("ewma"),
        LoadBalance::named("least_conn"),
        LoadBalance::named("peak_ewma"),
    ] {
        let what = format!("{load_balance:?} of 100,000 endpoints");
        // That it is taken is the proof that the document and its tables fit: a guest that needs more memory traps.
        let mut filter = metered(
            Route::to(BACKEND),
            Backend {
                load_balance,
                ..backend_with_pods(100_000)
            },
        );
        ensure_bounded(&what, &mut filter, &[]);
    }
}
