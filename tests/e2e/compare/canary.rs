//! Canaries: by weight the shares of both data planes are compared, by header and cookie each response.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::manifests::{Ingress, Manifests};

use super::{Site, compare, findings, serve, urls};

const HOST: &str = "drawn.test";

/// The Ingress with its canary of some weight.
fn drawn(manifests: &Manifests, annotations: &[(&str, &str)]) -> Result<()> {
    let main = Ingress::new("default", "drawn").host(HOST);
    manifests.ingress(&main.path("/", "own", 80))?;
    let canary = Ingress::new("default", "drawn-new").host(HOST);
    let canary = canary.path("/", "new", 80).annotation("canary", "true");
    let canary = annotations.iter().fold(canary, |canary, (name, value)| {
        canary.annotation(name, value)
    });
    manifests.ingress(&canary)
}

fn finding(findings: &Value) -> Result<Value> {
    let all = findings["ingresses"].as_array().context("no Ingresses")?;
    let found = all.iter().find(|it| it["name"] == "default/drawn");
    Ok(found.context("not there")?.clone())
}

/// Old and new, with this in their place; the report of the one Ingress.
async fn compared(
    old: &[(&str, &str)],
    new: &[(&str, &str)],
    planes: [&str; 2],
    arguments: &[&str],
) -> Result<Value> {
    let site = Site::start().await?;
    drawn(site.manifests(), old)?;
    let changed = Manifests::copy_of(site.manifests().dir())?;
    drawn(&changed, new)?;
    let [was, is] = planes;
    let (was, is) = (
        serve(site.manifests(), was).await?,
        serve(&changed, is).await?,
    );
    for sluice in [&was, &is] {
        sluice.wait_for_status(HOST, "/", 200).await?;
    }
    let folder = site.manifests().dir().display().to_string();
    let mut all = vec!["--manifests", &folder, "--output", "json", "--host", HOST];
    all.extend(arguments);
    let output = compare(&urls(&was), &urls(&is), &all).await?;
    was.stop()?;
    is.stop()?;
    finding(&findings(&output)?)
}

fn differs(finding: &Value, what: &str) -> bool {
    let mut all = finding["differences"].as_array().into_iter().flatten();
    finding["verdict"] == "differs"
        && all.any(|it| it["what"].as_str().is_some_and(|it| it.starts_with(what)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_weights_are_the_same_shares_and_others_differ() -> Result<()> {
    let weight = |weight| [("canary-weight", weight)];
    for planes in [["nginx", "envoy"], ["envoy", "nginx"]] {
        let same = compared(&weight("30"), &weight("30"), planes, &[]).await?;
        ensure!(same["verdict"] == "same_shares", "{planes:?}: {same:#}");
        let shares = &same["shares"][0];
        ensure!(shares["requests"] == 100, "{same:#}");
        let kinds = shares["kinds"].as_array().context("no kinds")?;
        ensure!(kinds.len() == 2, "{same:#}");
        let other = compared(&weight("30"), &weight("80"), planes, &[]).await?;
        ensure!(differs(&other, "share of body"), "{planes:?}: {other:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_are_of_the_upstreams_that_a_header_names() -> Result<()> {
    let weight = [("canary-weight", "30")];
    let planes = ["nginx", "envoy"];
    let named = ["--upstream-header", "x-pod"];
    let same = compared(&weight, &weight, planes, &named).await?;
    ensure!(same["verdict"] == "same_shares", "{same:#}");
    let kinds = same["shares"][0]["kinds"].as_array().context("no kinds")?;
    let names: Vec<&str> = kinds.iter().filter_map(|it| it["what"].as_str()).collect();
    for pod in ["upstream web-0", "upstream web-1", "upstream new-0"] {
        ensure!(names.contains(&pod), "{names:?}");
    }
    let off = compared(&weight, &weight, planes, &["--share-requests", "0"]).await?;
    let reason = off["unjudged"].to_string();
    ensure!(off["shares"].is_null(), "{off:#}");
    ensure!(
        reason.contains("--share-requests turns that off"),
        "{off:#}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_and_cookies_of_canaries_are_compared_exactly() -> Result<()> {
    let planes = ["nginx", "envoy"];
    for (rule, other) in [
        (
            [("canary-by-header", "x-new")],
            [("canary-by-header", "x-other")],
        ),
        (
            [("canary-by-cookie", "new")],
            [("canary-by-cookie", "other")],
        ),
    ] {
        let same = compared(&rule, &rule, planes, &[]).await?;
        ensure!(same["verdict"] == "same", "{same:#}");
        let changed = compared(&rule, &other, planes, &[]).await?;
        ensure!(differs(&changed, "body"), "{changed:#}");
        // Of requests that are alike but for a header, it says which one.
        let (name, value) = rule[0];
        let header = match name {
            "canary-by-cookie" => format!("cookie: {value}=always"),
            _ => format!("{value}: always"),
        };
        let text = changed["differences"].to_string();
        ensure!(text.contains(&format!("({header})")), "{header}: {text}");
    }
    Ok(())
}
