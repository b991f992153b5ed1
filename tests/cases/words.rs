//! Every expectation can fail. One world, and for each word a check that is right and one that is wrong.
//!
//! The pods are scripted to answer what a feature would, so that this says something about the runner and nothing about
//! the controller.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Outcome, Selection};

const HOST: &str = "app.example";

fn words() -> Value {
    serde_json::from_str(include_str!("words.json")).unwrap()
}

fn given() -> Value {
    words()["given"].take()
}

/// All checks, with what is right or with what is wrong.
fn checks(right: bool) -> Vec<Value> {
    let words = words();
    let rows = words["checks"].as_array().into_iter().flatten();
    let pairs = rows.flat_map(|row| {
        row["then"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|pair| (&row["when"], pair))
    });
    pairs
        .map(|(when, pair)| json!({ "when": when, "then": pair[usize::from(!right)] }))
        .collect()
}

/// The outcome of a case with these checks.
async fn outcome(given: Value, checks: Vec<Value>) -> Result<Outcome> {
    let case = json!({ "id": "x", "area": "a", "title": "t", "given": given, "checks": checks });
    let file = CaseFile::parse(&json!([case]).to_string())?;
    let mut summary = cases::play(&file, &Selection::default(), |_| {}).await?;
    Ok(summary.played.remove(0).outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_right_passes() -> Result<()> {
    let outcome = outcome(given(), checks(true)).await?;
    ensure!(outcome == Outcome::Passed, "{outcome:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_fails_word_by_word() -> Result<()> {
    let checks = checks(false);
    let Outcome::Failed(reasons) = outcome(given(), checks.clone()).await? else {
        anyhow::bail!("nothing failed")
    };
    let missed = checks.iter().enumerate().filter(|(n, _)| {
        let check = format!("check {}: ", n + 1);
        !reasons.iter().any(|reason| reason.starts_with(&check))
    });
    let missed: Vec<String> = missed.map(|(_, check)| check["then"].to_string()).collect();
    ensure!(
        missed.is_empty(),
        "passed, but are wrong:\n{}",
        missed.join("\n")
    );
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
        (
            with("after", json!("paint echo blue")),
            json!({ "status": 200 }),
            "paint echo blue",
        ),
        (
            with("protocol", json!("smtp")),
            json!({ "status": 200 }),
            "smtp",
        ),
        (
            with("vary", json!("somehow")),
            json!({ "status": 200 }),
            "somehow",
        ),
    ] {
        match outcome(given(), vec![json!({ "when": when, "then": then })]).await? {
            Outcome::NotApplicable(reason) => ensure!(reason.contains(named), "{named}: {reason}"),
            other => anyhow::bail!("{named}: {other:?}"),
        }
    }
    Ok(())
}

/// The second of these checks cannot be played, in each place where that shows while a case is played.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_failed_before_something_cannot_be_done_is_a_failure() -> Result<()> {
    let request = json!({ "path": "/", "host": HOST });
    let painted = json!({ "path": "/", "host": HOST, "after": "paint echo blue" });
    for (when, then) in [
        (painted, json!({ "status": 200 })),
        (request.clone(), json!({ "total": "few" })),
    ] {
        for (status, fails) in [(404, true), (200, false)] {
            let first = json!({ "when": request, "then": { "status": status } });
            let outcome =
                outcome(given(), vec![first, json!({ "when": when, "then": then })]).await?;
            ensure!(
                matches!(outcome, Outcome::Failed(_)) == fails,
                "{when}: {outcome:?}"
            );
            ensure!(
                matches!(outcome, Outcome::NotApplicable(_)) != fails,
                "{when}: {outcome:?}"
            );
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
        Outcome::Failed(reasons) => {
            ensure!(reasons[0].contains("--fly-to-the-moon"), "{reasons:?}");
        }
        other => anyhow::bail!("{other:?}"),
    }
    let read = json!({ "when": { "read": "Ingress.status" }, "then": { "equals": [{ "ip": "192.0.2.1" }] } });
    ensure!(matches!(
        outcome(given(), vec![read]).await?,
        Outcome::Failed(_)
    ));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_comes_while_requests_are_under_way() -> Result<()> {
    let mut slow = given();
    slow["backends"]["scripted"] = json!({ "*": { "delay_s": 1 } });
    for (status, passes) in [(200, true), (503, false)] {
        let when =
            json!({ "signal": "SIGTERM to the only replica", "path": "/scripted", "host": HOST });
        let check = json!({ "when": when, "then": { "status": status, "elapsed_s": ">=1" } });
        let outcome = outcome(slow.clone(), vec![check]).await?;
        ensure!(
            (outcome == Outcome::Passed) == passes,
            "{status}: {outcome:?}"
        );
    }
    Ok(())
}

/// One world plays both: the hosts, paths and pods of the first are gone when the second begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_case_has_nothing_of_the_one_before_it_in_its_world() -> Result<()> {
    let case = |id: &str, host: &str, checks: Value| {
        let path = json!({ "path": "/", "pathType": "Prefix", "service": id, "port": 80 });
        let rules = json!([{ "host": host, "paths": [path] }]);
        let ingress = json!({ "name": "a", "ingressClassName": "nginx", "rules": rules });
        json!({ "id": id, "area": "a", "title": "t", "given": { "ingresses": [ingress] }, "checks": checks })
    };
    let check =
        |host: &str, then: Value| json!({ "when": { "path": "/", "host": host }, "then": then });
    let both = |id: &str| {
        json!([
            check(
                "a.example",
                json!({ "status": if id == "one" { 200 } else { 404 } })
            ),
            check(
                "b.example",
                json!({ "status": if id == "two" { 200 } else { 404 } })
            ),
        ])
    };
    let again = json!([check("a.example", json!({ "status": 200 }))]);
    let cases = json!([
        case("one", "a.example", both("one")),
        case("two", "b.example", both("two")),
        case("three", "b.example", again),
    ]);
    let file = CaseFile::parse(&cases.to_string())?;
    let selection = Selection {
        jobs: 1,
        ..Selection::default()
    };
    let summary = cases::play(&file, &selection, |_| {}).await?;
    let [one, two, three] = summary.played.as_slice() else {
        anyhow::bail!("{summary}")
    };
    ensure!(one.outcome == Outcome::Passed, "{one}");
    ensure!(two.outcome == Outcome::Passed, "{two}");
    ensure!(matches!(three.outcome, Outcome::Failed(_)), "{three}");
    Ok(())
}
