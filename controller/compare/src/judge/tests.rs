//! The table of judgements, over parts of responses; and what must differ.

use std::slice;

use hyper::body::Bytes;
use sluice_explain::Request;

use super::*;
use crate::response::{Body, Response};
use crate::site::Context;

fn probe(method: &str) -> Probe {
    let request = Request::parse("https://a.b/", method, &[]).unwrap();
    Probe {
        context: Context::unknown("a.b"),
        request,
        body: Bytes::new(),
        is_ours: true,
    }
}

/// `200 x-a: 1 | body`
fn response(text: &str) -> Response {
    let (head, body) = text.split_once(" | ").unwrap_or((text, ""));
    let mut parts = head.split(" & ");
    let status = parts.next().unwrap().parse().unwrap();
    let headers = parts.map(|header| {
        let (name, value) = header.split_once(": ").unwrap();
        (name.to_owned(), value.as_bytes().to_vec())
    });
    let mut hash = [0; 32];
    for (to, from) in hash.iter_mut().zip(body.bytes()) {
        *to = from;
    }
    Response {
        status,
        headers: headers.collect(),
        body: Body {
            hash,
            bytes: body.len() as u64,
            start: body.as_bytes().to_vec(),
            ..Body::default()
        },
        certificate: None,
    }
}

fn judged(probe: &Probe, old: &[&str], new: &[&str]) -> Judgement {
    let mut attempts = Attempts::default();
    for (old, new) in old.iter().zip(new) {
        attempts.add(Ok(response(old)), Ok(response(new)));
    }
    attempts.judge(probe, &Scope::default())
}

fn differing(old: &str, new: &str) -> Vec<String> {
    let judgement = judged(&probe("GET"), &[old], &[new]);
    let all = judgement.differences.iter();
    all.map(|difference| difference.aspect.to_string())
        .collect()
}

#[test]
fn each_part_follows_the_table() {
    // A part of the response, with one value and another.
    let parts = [
        ("200", "201", "202"),
        ("200 & x-a: 1", "200 & x-a: 2", "200"),
        (
            "200 & set-cookie: a=1; Path=/",
            "200 & set-cookie: a=1",
            "200",
        ),
        ("302 & location: /a", "302 & location: /b", "302"),
        ("200 | a", "200 | b", "200 | c"),
    ];
    for (a, b, c) in parts {
        let probe = probe("GET");
        let judge = |old: &[&str], new: &[&str]| {
            let judgement = judged(&probe, old, new);
            (judgement.differences.len(), judgement.unjudged.len())
        };
        assert_eq!(judge(&[a, a], &[a, a]), (0, 0), "{a}");
        assert!(judge(&[a, a], &[b, b]).0 > 0, "{a} {b}");
        assert!(judge(&[a, a], &[a, b]).0 > 0, "{a} {b}, sometimes");
        assert_eq!(judge(&[a, b], &[b, b]), (0, 0), "{a} {b}: one of them");
        let (differences, unjudged) = judge(&[a, b], &[c, c]);
        assert!(
            differences == 0 && unjudged > 0,
            "{a} {b} {c}: nobody knows"
        );
    }
}

#[test]
fn what_must_differ_is_no_difference() {
    for (old, new) in [
        ("200 & date: 1", "200 & date: 2"),
        ("200 & server: nginx", "200 & server: envoy"),
        ("200 & x-request-id: 1", "200"),
        ("200 & via: 1", "200 & x-envoy-upstream-service-time: 3"),
        (
            "200 & transfer-encoding: chunked",
            "200 & content-length: 3",
        ),
        (
            "200 & vary: Accept, Origin",
            "200 & vary: origin & vary: accept",
        ),
        (
            "200 & content-type: text/html; charset=UTF-8",
            "200 & content-type: text/html;charset=utf-8",
        ),
        (
            "200 & set-cookie: INGRESSCOOKIE=1; Path=/",
            "200 & set-cookie: INGRESSCOOKIE=2; path=/",
        ),
        (
            "404 & content-type: text/html | <html>\r\n<head></head><body><center><h1>404 Not Found</h1></center><hr><center>nginx</center>",
            "404 | <html><head></head><body><center><h1>404</h1></center></body></html>",
        ),
        (
            "308 & location: https://a.b/ & content-type: text/html | <html><center><h1>308 x",
            "308 & location: https://a.b/",
        ),
    ] {
        assert!(differing(old, new).is_empty(), "{old} / {new}");
    }
}

#[test]
fn a_difference_is_named_by_its_part() {
    for (old, new, expected) in [
        (
            "200 & set-cookie: INGRESSCOOKIE=1; Secure",
            "200 & set-cookie: INGRESSCOOKIE=1",
            "cookie INGRESSCOOKIE",
        ),
        (
            "200 & set-cookie: a=1",
            "200 & set-cookie: a=2",
            "value of cookie a",
        ),
        (
            "302 & location: http://a.b/",
            "302 & location: https://a.b/",
            "Location",
        ),
        ("404 | missing", "404 | <html><center><h1>404 x", "body"),
        (
            "200 & x-frame-options: DENY",
            "200",
            "header x-frame-options",
        ),
        ("200", "404 | <html><center><h1>404 x", "status"),
    ] {
        assert_eq!(differing(old, new), [expected], "{old} / {new}");
    }
}

/// Also those that are compared in a way of their own.
#[test]
fn a_header_that_is_left_out_is_compared_in_no_way() {
    let pairs = [
        ("x-a", "200 & x-a: 1", "200"),
        ("location", "302 & location: /a", "302 & location: /b"),
        (
            "set-cookie",
            "200 & set-cookie: a=1",
            "200 & set-cookie: b=1",
        ),
        ("allow", "405 & allow: GET", "405 & allow: PUT"),
    ];
    for (header, old, new) in pairs {
        assert!(!differing(old, new).is_empty(), "{header}");
        let mut attempts = Attempts::default();
        attempts.add(Ok(response(old)), Ok(response(new)));
        let scope = Scope {
            ignored_headers: vec![header.to_owned()],
            ..Scope::default()
        };
        let judgement = attempts.judge(&probe("GET"), &scope);
        assert!(judgement.differences.is_empty(), "{header}");
    }
}

#[test]
fn the_value_of_a_cookie_is_never_shown() {
    let judgement = judged(
        &probe("GET"),
        &["200 & set-cookie: a=secret"],
        &["200 & set-cookie: a=hidden"],
    );
    let text = format!("{judgement:?}");
    assert!(!judgement.differences.is_empty());
    assert!(
        !text.contains("secret") && !text.contains("hidden"),
        "{text}"
    );
}

#[test]
fn a_request_is_sent_again_only_where_that_is_safe_and_may_help() {
    let open = |method: &str, pairs: &[(Answered, Answered)]| {
        let (mut attempts, probe) = (Attempts::default(), probe(method));
        for (old, new) in pairs {
            attempts.add(old.clone(), new.clone());
        }
        let judgement = attempts.judge(&probe, &Scope::default());
        attempts.is_open(&probe, &judgement)
    };
    let ok = |text: &str| Ok(response(text));
    let differs = (ok("200"), ok("404"));
    assert!(open("GET", slice::from_ref(&differs)));
    assert!(!open("POST", slice::from_ref(&differs)));
    assert!(!open("GET", &[(ok("200"), ok("200"))]));
    assert!(!open("GET", &vec![differs; MOST_OF_DATA_PLANE]));
    let of_upstream = vec![(ok("200 | a"), ok("200 | b")); MOST_OF_DATA_PLANE];
    assert!(open("GET", &of_upstream) && !open("GET", &[&of_upstream[..], &of_upstream].concat()));
    // By turns of two pods; the old one has had the same one each time.
    let turns = [
        (ok("200 | a"), ok("200 | a")),
        (ok("200 | a"), ok("200 | b")),
    ];
    assert!(
        open("GET", &vec![turns.clone(); 5].concat()) && !open("GET", &vec![turns; 6].concat())
    );
    let silent = (Err(Failure::Timeout), ok("200"));
    assert!(open("GET", slice::from_ref(&silent)) && !open("GET", &[silent.clone(), silent]));
    let gone = Err(Failure::Unreachable(String::new()));
    assert!(!open("GET", &[(gone, ok("200"))]));
}

#[test]
fn silence_of_one_side_is_a_difference_and_of_both_is_none() {
    let judge = |old: Answered, new: Answered, probe: &Probe| {
        let mut attempts = Attempts::default();
        attempts.add(old, new);
        attempts.judge(probe, &Scope::default())
    };
    let silent = || Err(Failure::Timeout);
    let get = probe("GET");
    let one = judge(silent(), Ok(response("200")), &get);
    assert_eq!(one.differences[0].aspect, Aspect::Response);
    assert!(judge(silent(), silent(), &get).is_void);
    let limited = Context {
        is_limited: true,
        ..get.context.clone()
    };
    let limited = Probe {
        context: limited,
        ..get.clone()
    };
    assert!(judge(Ok(response("429")), Ok(response("200")), &limited).is_void);
    assert!(!judge(Ok(response("429")), Ok(response("200")), &get).is_void);
    let shared = Probe {
        context: Context {
            shared_by: vec!["a".to_owned(), "b".to_owned()],
            ..get.context.clone()
        },
        ..get
    };
    let by_chance = judge(Ok(response("200 | a")), Ok(response("200 | b")), &shared);
    assert_eq!(
        (by_chance.differences.len(), by_chance.unjudged.len()),
        (0, 1)
    );
}

#[test]
fn documented_differences_name_their_page() {
    let closed = probe("GET");
    let closed = Probe {
        context: Context {
            is_closed: true,
            ..closed.context.clone()
        },
        ..closed
    };
    for (probe, old, new) in [
        (closed, "200", "503"),
        (
            probe("GET"),
            "404",
            "404 & strict-transport-security: max-age=1",
        ),
    ] {
        let judgement = judged(&probe, &[old], &[new]);
        let known = judgement.differences[0].known.expect(new);
        assert!(known.page.starts_with("docs/differences.md#"), "{known:?}");
    }
    let unknown = judged(&probe("GET"), &["200"], &["503"]);
    assert_eq!(unknown.differences[0].known, None);
}

#[test]
fn shares_are_compared_where_backends_share_by_weight() {
    let shared = Probe {
        context: Context {
            shared_by: vec!["a".to_owned(), "b".to_owned()],
            ..Context::unknown("a.b")
        },
        ..probe("GET")
    };
    // So many of 100 are of the canary.
    let judge = |(old, new): (usize, usize), (stable, canary, other): (&str, &str, &str)| {
        let mut attempts = Attempts::default();
        for number in 0..100 {
            let old = if number < old { canary } else { stable };
            let new = if number < new { other } else { stable };
            attempts.add(Ok(response(old)), Ok(response(new)));
        }
        let judgement = attempts.judge_shares(&shared, &Scope::default());
        let all = judgement.differences.iter();
        let all: Vec<String> = all.map(|it| it.aspect.to_string()).collect();
        (all, judgement.shares.len(), judgement.unjudged.len())
    };
    let (stable, canary) = ("200 & x-v: 1 | a", "200 & x-v: 2 | b");
    let alike = (stable, canary, canary);
    for (counts, differing) in [
        ((20, 20), 0),
        ((20, 30), 0),
        ((20, 80), 2),
        ((20, 0), 2),
        ((0, 30), 2),
    ] {
        let (differences, kinds, unjudged) = judge(counts, alike);
        assert_eq!((differences.len(), kinds, unjudged), (differing, 2, 0));
        let is_share = |it: &String| it.starts_with("share of header x-v");
        assert!(differences.iter().all(is_share), "{differences:?}");
    }
    // A canary that answers something else; with a status of its own it is seen as well.
    for other in ["200 & x-v: 3 | c", "500 | c"] {
        let (differences, kinds, _) = judge((30, 30), (stable, canary, other));
        assert_eq!((differences.len(), kinds), (2, 3), "{differences:?}");
    }
    // Whatever is always there is compared exactly.
    let (differences, ..) = judge((100, 100), (stable, "200 & x-v: 2 | b", "404 | b"));
    assert_eq!(differences, ["status"]);
    // Nothing tells them apart, or each response is another one.
    assert_eq!(
        judge((20, 20), (stable, stable, stable)),
        (Vec::new(), 0, 1)
    );
    let mut attempts = Attempts::default();
    for number in 0..100 {
        let answer = || Ok(response(&format!("200 | {number}")));
        attempts.add(answer(), answer());
    }
    let judgement = attempts.judge_shares(&shared, &Scope::default());
    assert_eq!(
        (judgement.differences.len(), judgement.unjudged.len()),
        (0, 2)
    );
}

#[test]
fn responses_of_one_upstream_are_alike() {
    let shared = Probe {
        context: Context {
            shared_by: vec!["a".to_owned(), "b".to_owned()],
            ..Context::unknown("a.b")
        },
        ..probe("GET")
    };
    let scope = Scope {
        upstream_header: Some("x-pod".to_owned()),
        ..Scope::default()
    };
    for (canary, expected) in [("2", &[][..]), ("3", &["header x-v"])] {
        let mut attempts = Attempts::default();
        for number in 0..100 {
            let answer = |version: &str| match number % 3 {
                0 => response(&format!("200 & x-pod: b & x-v: {version}")),
                _ => response("200 & x-pod: a & x-v: 1"),
            };
            attempts.add(Ok(answer("2")), Ok(answer(canary)));
        }
        let judgement = attempts.judge_shares(&shared, &scope);
        let all = judgement.differences.iter();
        let all: Vec<String> = all.map(|it| it.aspect.to_string()).collect();
        assert_eq!(all, expected);
        assert_eq!(judgement.shares.len(), 2);
    }
}
