//! Every expectation can fail. One world, and for each word a check that is right and one that is wrong.
//!
//! The pods are scripted to answer what a feature would, so that this says something about the runner and nothing about
//! the controller.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Outcome, Selection};

const HOST: &str = "app.example";

/// An Ingress to two echoing pods, and one to a pod with a script.
fn given() -> Value {
    let rule = |path: &str, service: &str| {
        let target = json!({ "path": path, "pathType": "Prefix", "service": service, "port": 80 });
        json!({ "host": HOST, "paths": [target] })
    };
    json!({
        "ingresses": [{
            "name": "a", "namespace": "demo", "ingressClassName": "nginx",
            "rules": [rule("/", "echo"), rule("/scripted", "scripted"), rule("/flaky", "flaky")],
        }],
        "endpoints": { "echo": 2 },
        "backends": {
            "scripted": { "/scripted": {
                "status": 302, "body": "moved",
                "headers": {
                    "Location": "http://b.example/x", "X-Two": ["1", "2"],
                    "Set-Cookie": "route=7; Path=/a; Secure; SameSite=Lax",
                },
            } },
            "flaky": { "fail_first": 1, "fail_status": 500, "*": { "status": 200 } },
        },
    })
}

/// A request, and expectations of it that hold and that do not.
fn words() -> Vec<(Value, Vec<(Value, Value)>)> {
    let scripted = json!({ "path": "/scripted", "host": HOST });
    let echo = json!({ "path": "/x?q=1", "host": HOST, "method": "POST", "raw_body": "hi", "headers": { "A": "b" } });
    let many = json!({ "path": "/", "host": HOST, "repeat": 20 });
    vec![
        (
            scripted,
            vec![
                (json!({ "status": 302 }), json!({ "status": 301 })),
                (json!({ "status": "3xx" }), json!({ "status": "2xx" })),
                (json!({ "status_counts": { "302": 1 } }), json!({ "status_counts": { "302": 2 } })),
                (json!({ "location": "http://b.example/x" }), json!({ "location": "http://b.example/" })),
                (json!({ "location_suffix": "/x" }), json!({ "location_suffix": "/y" })),
                (json!({ "headers": { "x-two": "1, 2" } }), json!({ "headers": { "X-Two": "1" } })),
                (json!({ "headers_absent": ["X-None"] }), json!({ "headers_absent": ["X-Two"] })),
                (json!({ "headers_present": ["X-Two"] }), json!({ "headers_present": ["X-None"] })),
                (json!({ "header_count": { "X-Two": 2 } }), json!({ "header_count": { "X-Two": 1 } })),
                (json!({ "body_contains": "ove" }), json!({ "body_contains": "over" })),
                (json!({ "body_not_contains": "over" }), json!({ "body_not_contains": "ove" })),
                (
                    json!({ "set_cookie": { "name": "route", "path": "/a", "domain": null } }),
                    json!({ "set_cookie": null }),
                ),
                (json!({ "set_cookie": { "secure": true } }), json!({ "set_cookie": { "secure": false } })),
                (json!({ "set_cookie_raw": "route=7" }), json!({ "set_cookie_raw": "route=8" })),
                (json!({ "no_set_cookie": "other" }), json!({ "no_set_cookie": "route" })),
                (json!({ "backend": "scripted" }), json!({ "backend": "echo" })),
                (json!({ "elapsed_s": "<=10" }), json!({ "elapsed_s": ">=10" })),
            ],
        ),
        (
            echo,
            vec![
                (json!({ "proxied": true }), json!({ "proxied": false })),
                (json!({ "upstream_path": "/x" }), json!({ "upstream_path": "/" })),
                (json!({ "upstream_query": "q=1" }), json!({ "upstream_query": null })),
                (json!({ "upstream_method": "POST" }), json!({ "upstream_method": "GET" })),
                (json!({ "upstream_proto": "HTTP/1.1" }), json!({ "upstream_proto": "HTTP/2" })),
                (
                    json!({ "upstream_headers": { "host": HOST, "a": "b" } }),
                    json!({ "upstream_headers": { "a": "c" } }),
                ),
                (json!({ "upstream_headers_absent": ["b"] }), json!({ "upstream_headers_absent": ["a"] })),
                (
                    json!({ "upstream_header_not": { "a": "c" } }),
                    json!({ "upstream_header_not": { "a": "b" } }),
                ),
                (
                    json!({ "upstream_header_prefix": { "host": "app." } }),
                    json!({ "upstream_header_prefix": { "host": "b" } }),
                ),
                (
                    json!({ "upstream_header_regex": { "a": "^[b]$" } }),
                    json!({ "upstream_header_regex": { "a": "c" } }),
                ),
                (json!({ "upstream_hits": 1 }), json!({ "upstream_hits": 2 })),
                (json!({ "upstream_hits": { "echo": 1 } }), json!({ "upstream_hits": { "scripted": 1 } })),
                (json!({ "upstream_sni": null }), json!({ "upstream_sni": "x" })),
                (json!({ "upstream_client_cert": false }), json!({ "upstream_client_cert": "CN=x" })),
                (
                    json!({ "endpoints_are": ["echo-0", "echo-1", "scripted-0", "flaky-0"] }),
                    json!({ "endpoints_are": ["echo-0"] }),
                ),
                (json!({ "config_contains": HOST }), json!({ "config_contains": "other.example" })),
                (json!({ "log_contains": "published" }), json!({ "log_contains": "no such line" })),
            ],
        ),
        (
            many,
            vec![
                (json!({ "total": 20 }), json!({ "total": 19 })),
                (json!({ "distinct_pods": 2 }), json!({ "distinct_pods": 1 })),
                (json!({ "per_pod": 10 }), json!({ "per_pod": "11..20" })),
                (json!({ "same_pod": false }), json!({ "same_pod": true })),
                (
                    json!({ "distribution": { "echo": "100%", "echo-0": ">=9" } }),
                    json!({ "distribution": { "echo-0": 20 } }),
                ),
            ],
        ),
        (
            json!({ "path": "/", "host": HOST, "scheme": "https" }),
            vec![
                (
                    json!({ "tls": { "terminated_by": "controller" } }),
                    json!({ "tls": { "terminated_by": "backend" } }),
                ),
                (json!({ "status": 200 }), json!({ "tls": { "cn": "nobody" } })),
                (json!({ "status": 200 }), json!({ "tls": { "dns": ["nobody"] } })),
            ],
        ),
        (
            json!({ "path": "/flaky", "host": HOST }),
            vec![(json!({ "status": 500, "proxied": true }), json!({ "status": 200 }))],
        ),
        (
            json!({ "after": "scale echo to 3", "path": "/", "host": HOST, "repeat": 9 }),
            vec![(json!({ "distinct_pods": 3, "reload": false }), json!({ "distinct_pods": 2 }))],
        ),
        (
            json!({ "after": "set rewrite-target=/" }),
            vec![(json!({ "reload": false }), json!({ "config_contains": "no such text" }))],
        ),
    ]
}

/// The outcome of a case with these checks.
async fn outcome(given: Value, checks: Vec<Value>) -> Result<Outcome> {
    let case = json!({ "id": "x", "area": "a", "title": "t", "given": given, "checks": checks });
    let file = CaseFile::parse(&json!([case]).to_string())?;
    let mut summary = cases::play(&file, &Selection::default(), |_| {}).await?;
    Ok(summary.played.remove(0).outcome)
}

fn checks(of: fn((Value, Value)) -> Value) -> Vec<Value> {
    let rows = words().into_iter();
    let checks = rows.flat_map(|(when, words)| {
        words.into_iter().map(move |both| json!({ "when": when, "then": of(both) }))
    });
    checks.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_right_passes() -> Result<()> {
    let outcome = outcome(given(), checks(|(right, _)| right)).await?;
    ensure!(outcome == Outcome::Passed, "{outcome:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_fails_word_by_word() -> Result<()> {
    let checks = checks(|(_, wrong)| wrong);
    let Outcome::Failed(reasons) = outcome(given(), checks.clone()).await? else {
        anyhow::bail!("nothing failed")
    };
    let missed = checks.iter().enumerate().filter(|(n, _)| {
        let check = format!("check {}: ", n + 1);
        !reasons.iter().any(|reason| reason.starts_with(&check))
    });
    let missed: Vec<String> = missed.map(|(_, check)| check["then"].to_string()).collect();
    ensure!(missed.is_empty(), "passed, but are wrong:\n{}", missed.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_named() -> Result<()> {
    let request = json!({ "path": "/", "host": HOST });
    let with = |word: &str, value: Value| {
        let mut when = request.clone();
        when[word] = value;
        when
    };
    for (when, then, named) in [
        (with("colour", json!(1)), json!({ "status": 200 }), "colour"),
        (request.clone(), json!({ "colour": 1 }), "colour"),
        (request.clone(), json!({}), "nothing is expected"),
        (request.clone(), json!({ "allowed": true }), "allowed"),
        (request.clone(), json!({ "status": "nice" }), "nice"),
        (with("after", json!("paint echo blue")), json!({ "status": 200 }), "paint echo blue"),
        (with("protocol", json!("smtp")), json!({ "status": 200 }), "smtp"),
        (with("vary", json!("somehow")), json!({ "status": 200 }), "somehow"),
    ] {
        match outcome(given(), vec![json!({ "when": when, "then": then })]).await? {
            Outcome::NotApplicable(reason) => ensure!(reason.contains(named), "{named}: {reason}"),
            other => anyhow::bail!("{named}: {other:?}"),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feature_that_is_missing_is_a_failure() -> Result<()> {
    let mut with_flag = given();
    with_flag["flags"] = json!(["--fly-to-the-moon=true"]);
    let check = json!({ "when": { "path": "/", "host": HOST }, "then": { "status": 200 } });
    match outcome(with_flag, vec![check]).await? {
        Outcome::Failed(reasons) => ensure!(reasons[0].contains("--fly-to-the-moon"), "{reasons:?}"),
        other => anyhow::bail!("{other:?}"),
    }
    let read = json!({ "when": { "read": "Ingress.status" }, "then": { "equals": [] } });
    ensure!(matches!(outcome(given(), vec![read]).await?, Outcome::Failed(_)));
    Ok(())
}
