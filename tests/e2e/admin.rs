//! The admin interface of a running controller, and the commands that talk to it.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::sluice::Sluice;
use sluice_tests::{artifacts, wait};

use crate::fixture::{Fixture, ensure_even_spread};

const BACKENDS: &str = "/configuration/backends";

fn dbg(sluice: &Sluice, words: &[&str]) -> Result<Output> {
    let mut command = Command::new(artifacts::sluice()?);
    command
        .arg("dbg")
        .args(words)
        .arg("--admin-socket")
        .arg(sluice.admin_socket());
    Ok(command.output()?)
}

fn stdout_of(sluice: &Sluice, words: &[&str]) -> Result<String> {
    let output = dbg(sluice, words)?;
    ensure!(
        output.status.success(),
        "dbg {words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn dbg_shows_the_published_configuration() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(
        stdout_of(&sluice, &["backends", "list"])? == "default-web-80\nupstream-default-backend\n"
    );
    let backend: Value =
        serde_json::from_str(&stdout_of(&sluice, &["backends", "get", "default-web-80"])?)?;
    let endpoints = backend["endpoints"].as_array().context("endpoints")?;
    ensure!(endpoints.len() == 2, "{backend}");
    let port = fixture.pods[0].addr().port().to_string();
    ensure!(
        endpoints
            .iter()
            .all(|endpoint| endpoint["port"] == port.as_str()),
        "{backend}"
    );
    let all: Value = serde_json::from_str(&stdout_of(&sluice, &["backends", "all"])?)?;
    ensure!(all[0] == backend, "{all}");
    ensure!(stdout_of(&sluice, &["general"])? == "{}\n");
    ensure!(stdout_of(&sluice, &["conf"])?.contains("web.test"));
    ensure!(stdout_of(&sluice, &["certs", "get", "_"])?.starts_with("-----BEGIN CERTIFICATE-----"));
    for words in [["backends", "get", "nope"], ["certs", "get", "nope.test"]] {
        let output = dbg(&sluice, &words)?;
        ensure!(!output.status.success(), "{words:?}");
        let error = String::from_utf8(output.stderr)?;
        ensure!(
            error.contains(words[2]) && !error.contains("/configuration"),
            "{error}"
        );
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn status_reports_connections_and_initialization() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(
        http::get_unix(&sluice.admin_socket(), "/is-dynamic-lb-initialized")
            .await?
            .text()
            == "OK"
    );
    let status = http::get_unix(&sluice.admin_socket(), "/nginx_status")
        .await?
        .text();
    let lines: Vec<&str> = status.lines().collect();
    ensure!(
        lines.len() == 4 && lines[0].starts_with("Active connections: "),
        "{status}"
    );
    ensure!(lines[3].starts_with("Reading: 0 Writing: "), "{status}");
    sluice.stop()
}

/// In ingress-nginx the controller POSTs to its nginx, so whoever reaches the port changes what is served. Here data planes ask
/// the controller, and nobody but the API server changes anything.
#[tokio::test(flavor = "multi_thread")]
async fn posted_configuration_is_refused_and_changes_nothing() -> Result<()> {
    let fixture = Fixture::start(2, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let socket = sluice.admin_socket();
    let backends = async || anyhow::Ok(http::get_unix(&socket, BACKENDS).await?.text());
    let before = backends().await?;
    let mut posted: Value = serde_json::from_str(&before)?;
    let another = fixture.pods[1].addr();
    posted[0]["endpoints"] =
        json!([{"address": another.ip().to_string(), "port": another.port().to_string()}]);
    for path in [BACKENDS, "/configuration/servers", "/configuration/general"] {
        let request = Request::new("POST", "unix", path)
            .header("content-type", "application/json")
            .body(posted.to_string());
        let answer = http::send_unix(&socket, &request).await?;
        let expected = match path {
            BACKENDS => (
                403,
                "Backends are read only: start the controller with --admin-writes.",
            ),
            _ => (400, "Read only: configuration comes from the API server."),
        };
        ensure!(
            (answer.status, &*answer.text()) == expected,
            "{path}: {answer:?}"
        );
    }
    ensure!(backends().await? == before, "the backends have changed");
    ensure_even_spread(sluice.http(), &[0]).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_shutdown_stops_the_controller_and_waits_for_its_exit() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut command = Command::new(artifacts::sluice()?);
    command
        .arg("wait-shutdown")
        .arg("--admin-socket")
        .arg(sluice.admin_socket());
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let gone = async || {
        (!std::path::Path::new(&format!("/proc/{}/exe", sluice.pid())).exists()).then_some(())
    };
    wait::until("the controller to be gone", gone).await?;
    Ok(())
}
