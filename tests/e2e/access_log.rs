//! Requests that are written down: what the operator asked for, without the paths that asked to be left out.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};

use crate::site::{HOST, Site};

const QUIET: &str = "quiet.test";

/// The line of a request, found by its `User-Agent`.
async fn line(sluice: &Sluice, agent: &str) -> Result<Value> {
    // As JSON has it.
    let line = sluice.log().wait_for(&serde_json::to_string(agent)?).await?;
    serde_json::from_str(&line).with_context(|| line.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_written_down_where_that_is_asked_for() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let quiet = Ingress::new("default", "quiet").host(QUIET).path("/", "web", 80);
    site.manifests.ingress(&quiet.annotation("enable-access-log", "false"))?;
    let sluice = Options::new(&site.manifests).arguments(vec!["--access-log".to_owned()]).start().await?;
    let ask = async |host: &str, agent: &str| {
        http::send(sluice.http(), &Request::get(host, "/a?b=c").header("user-agent", agent)).await
    };
    ensure!(ask(QUIET, "left-out").await?.status == 200);
    ensure!(ask("nobody.test", "no-route").await?.status == 404);
    ensure!(ask(HOST, "a \"quoted\" one").await?.status == 200);
    let served = line(&sluice, "a \"quoted\" one").await?;
    ensure!(served["host"] == HOST && served["request_uri"] == "/a?b=c", "{served}");
    ensure!(served["status"] == 200 && served["location"] == format!("{HOST}/"), "{served}");
    ensure!(served["upstream_addr"] == site.pods[0].addr().to_string(), "{served}");
    ensure!(line(&sluice, "no-route").await?["status"] == 404);
    let lines = sluice.log().lines();
    ensure!(!lines.iter().any(|line| line.contains("left-out")), "the quiet host is in the log");
    sluice.stop()
}
