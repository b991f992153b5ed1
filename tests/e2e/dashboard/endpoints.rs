//! Endpoints that do not get their share: ejected ones, and new ones with a slow start.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::script::Script;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use super::browser::Browser;
use super::{options, page_of_the_ingress};
use crate::fixture::{Fixture, HOST};

/// The states of all endpoints, which are sorted by address.
const STATE: &str = "table:last-of-type tbody tr:nth-child";

/// Two pods, of which the second fails.
async fn site(ejection_seconds: &str) -> Result<(Fixture, Port)> {
    let (fixture, port) = (Fixture::start(3, 2).await?, Port::reserve()?);
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .annotation("sluice.dev/eject-after", "2")
        .annotation("sluice.dev/ejection-seconds", ejection_seconds)
        .annotation("sluice.dev/slow-start", "300");
    fixture.manifests.ingress(&ingress.path("/", "web", 80))?;
    fixture.pods[1].script(Script::status(500));
    Ok((fixture, port))
}

/// Until the page says so. The log of the request after an ejection tells of it.
async fn wait_for_ejection(sluice: &Sluice, browser: &Browser) -> Result<()> {
    let row = format!("{STATE}(2)");
    let is_ejected = async || {
        sluice.get(HOST, "/").await.ok()?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let text = browser.text(&row).await.ok()?;
        text.contains("ejected by 1 worker, ").then_some(())
    };
    wait::until("the endpoint to be ejected", is_ejected)
        .await
        .map(drop)
}

/// Seconds in a row.
async fn seconds_left(browser: &Browser, row: &str) -> Result<u32> {
    let text = browser.text(row).await?;
    let left = text
        .split(", ")
        .last()
        .and_then(|left| left.strip_suffix(" s left"));
    let left = left.with_context(|| text.clone())?;
    left.parse().with_context(|| text.clone())
}

async fn ejection_counts_down(options: impl Fn(Options) -> Options) -> Result<()> {
    let (fixture, port) = site("60").await?;
    let sluice = options(super::options(&fixture, &port)).start().await?;
    let browser = page_of_the_ingress(&sluice, &port).await?;
    wait_for_ejection(&sluice, &browser).await?;
    browser.wait_for(&format!("{STATE}(1)"), "ready").await?;
    // Without a request: the page follows the time.
    let row = format!("{STATE}(2)");
    let first = seconds_left(&browser, &row).await?;
    ensure!((30..=60).contains(&first), "{first}");
    let is_later = async || {
        let left = seconds_left(&browser, &row).await.ok()?;
        (left < first).then_some(())
    };
    wait::until("the seconds to pass", is_later).await?;
    browser.client.clone().close().await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_ejections_of_envoy() -> Result<()> {
    ejection_counts_down(|options| options).await
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_ejections_of_envoy_with_wasm() -> Result<()> {
    let flags = ["--envoy-filter", "wasm"].map(str::to_owned);
    ejection_counts_down(|options| options.arguments(flags.to_vec())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_ejections_of_nginx() -> Result<()> {
    ejection_counts_down(|options| options.data_plane("nginx")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_slow_starts_of_new_endpoints_and_after_ejections() -> Result<()> {
    let (fixture, port) = site("4").await?;
    let sluice = options(&fixture, &port).start().await?;
    let browser = page_of_the_ingress(&sluice, &port).await?;
    let rows = [1, 2, 3].map(|n| format!("{STATE}({n})"));
    // A data plane that has just started knows no new ones.
    for row in &rows[..2] {
        browser.wait_for(row, "ready").await?;
    }
    fixture.endpoints(&[0, 1, 2])?;
    browser.wait_for(&rows[2], "slow start, ").await?;
    let first = seconds_left(&browser, &rows[2]).await?;
    ensure!((200..=300).contains(&first), "{first}");
    let is_later = async || {
        let left = seconds_left(&browser, &rows[2]).await.ok()?;
        (left < first).then_some(())
    };
    wait::until("the seconds to pass", is_later).await?;

    wait_for_ejection(&sluice, &browser).await?;
    browser.wait_for(&rows[1], "slow start, ").await?;
    browser.wait_for(&rows[0], "ready").await?;
    browser.client.clone().close().await?;
    sluice.stop()
}
