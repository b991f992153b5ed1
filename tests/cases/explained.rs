//! `sluice explain` says of the requests of `ingress.json` what the data planes answer, as far as that depends on nothing but the request
//! and the objects.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts;
use sluice_tests::cases::ingress::schema::{Case, Check};
use sluice_tests::cases::ingress::staged::Staged;

use crate::{ingress, lists};

/// Requests that are compared, and those to routes with canaries; fewer mean that the comparison has lost its subject.
const LEAST: usize = 250;
const LEAST_OF_CANARIES: usize = 15;

#[tokio::test(flavor = "multi_thread")]
async fn explain_says_what_the_data_planes_answer() -> Result<()> {
    let expected_failures = lists::expected("envoy")?;
    let (mut compared, mut of_canaries, mut wrong) = (0, 0, Vec::new());
    for words in &ingress::file()?.cases {
        let Ok(case) = Case::read(words) else {
            continue;
        };
        if expected_failures.failures.lists(&case.id) {
            continue;
        }
        let staged = Staged::for_case(&case).await?;
        let (Some(folder), Ok(flags)) = (staged.folder(), staged.flags()) else {
            continue;
        };
        for (n, check) in case.checks.iter().enumerate() {
            // What an action makes of the objects is not in the folder.
            if !check.when.after.0.is_empty() {
                break;
            }
            let Some(mut command) = command(check) else {
                continue;
            };
            command.arg("--manifests").arg(folder).args(&flags);
            command.args(["--allow-upstream-cidr", "127.0.0.0/8", "--output", "json"]);
            let output = command.output().context("sluice explain")?;
            let text = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{} {n}: {text}", case.id);
            let explanation: Value = serde_json::from_slice(&output.stdout)?;
            let outcome = &explanation["outcome"];
            if is_decided_elsewhere(check, &explanation) {
                continue;
            }
            compared += 1;
            of_canaries += usize::from(selected(outcome).is_some());
            if let Err(difference) = compare(check, outcome) {
                wrong.push(format!("{} check {}: {difference}", case.id, n + 1));
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{compared} compared:\n{}",
        wrong.join("\n")
    );
    ensure!(compared >= LEAST, "only {compared} requests are compared");
    ensure!(
        of_canaries >= LEAST_OF_CANARIES,
        "only {of_canaries} of canaries"
    );
    Ok(())
}

/// The question about the request of a check; `None` if the answer has to be waited for.
fn command(check: &Check) -> Option<Command> {
    let when = &check.when;
    let is_one = when.is_request() && when.repeat.is_none() && when.concurrency.is_none();
    let is_sent = when.proxy_header.is_none() && when.use_cookie.is_none();
    let path = match &when.path_as_is {
        Some(Value::String(path)) => path,
        _ => when.path.as_ref()?,
    };
    if !is_one || !is_sent || !path.starts_with('/') {
        return None;
    }
    let scheme = when.scheme.as_deref().unwrap_or("http");
    let host = when.host.as_deref().filter(|host| !host.is_empty());
    let mut command = Command::new(artifacts::sluice().ok()?);
    command.arg("explain");
    command.arg(format!("{scheme}://{}{path}", host.unwrap_or("127.0.0.1")));
    command.args(["-X", when.method.as_deref().unwrap_or("GET")]);
    for (name, values) in &when.headers {
        for value in &values.0 {
            command.args(["-H", &format!("{name}: {value}")]);
        }
    }
    let cookies: Vec<String> = when
        .cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !cookies.is_empty() {
        command.args(["-H", &format!("Cookie: {}", cookies.join("; "))]);
    }
    Some(command)
}

/// A policy that needs more than the request answers, or a service that is asked instead of the route's own.
fn is_decided_elsewhere(check: &Check, explanation: &Value) -> bool {
    const GUARDS: [&str; 3] = ["ip_access", "authentication", "limits"];
    let policies = &explanation["route"]["policies"];
    let status = check.then.status.as_ref().and_then(Value::as_u64);
    let is_guarded = GUARDS.iter().any(|name| policies.get(name).is_some());
    let is_refused = is_guarded && matches!(status, Some(302 | 401 | 403 | 429 | 503));
    // With a certificate of the client's or without: the request does not say.
    let is_unknown = explanation.get("client_certificates").is_some() && status >= Some(300);
    let is_of_errors = check.then.upstream_headers.contains_key("x-code");
    is_refused || is_unknown || is_of_errors
}

/// Compares what is said with what is expected of the data planes.
fn compare(check: &Check, outcome: &Value) -> Result<(), String> {
    // Whoever gets the connection as it is reads its requests.
    if outcome.get("passthrough").is_some() {
        return Ok(());
    }
    let then = &check.then;
    let Some(status) = then.status.as_ref().and_then(Value::as_u64) else {
        return Ok(());
    };
    let differs = |what: &str| Err(format!("{what} is expected, and explained is {outcome}"));
    if let Some(said) = outcome["respond"]["status"].as_u64() {
        return match said == status {
            true => Ok(()),
            false => differs(&format!("status {status}")),
        };
    }
    if outcome == "denied" {
        return match status {
            503 => Ok(()),
            _ => differs(&format!("status {status}")),
        };
    }
    if let Some(redirect) = outcome.get("redirect") {
        if redirect["status"].as_u64() != Some(status) {
            return differs(&format!("status {status}"));
        }
        return match &then.location {
            Some(Some(location)) if redirect["location"] != location.as_str() => {
                differs(&format!("location {location}"))
            }
            _ => Ok(()),
        };
    }
    // A pod answers, or a policy in its place.
    if matches!(status, 300..=399 | 404) && then.backend.is_none() && then.proxied != Some(true) {
        return differs(&format!("status {status}"));
    }
    if let (Some(backend), Some(Some(expected))) = (selected(outcome), &then.backend)
        && backend != expected
    {
        return differs(&format!("backend {expected}"));
    }
    let path = outcome["forward"]["path"].as_str().unwrap_or_default();
    match &then.upstream_path {
        Some(expected) if path.split('?').next() != Some(expected) => {
            differs(&format!("path {expected}"))
        }
        _ => Ok(()),
    }
}

/// The Service that the rules of canaries select, unless chance does.
fn selected(outcome: &Value) -> Option<&str> {
    let selection = &outcome["forward"]["selection"];
    let choice = selection.get("canary").or(selection.get("main"))?;
    choice["backend"].as_str()?.split('/').nth(1)
}
