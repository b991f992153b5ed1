//! `--log-format json` of all commands that log.

use std::process::Command;

use anyhow::{Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane};
use sluice_tests::ports::Port;
use sluice_tests::sluice::Options;

use crate::fixture::Fixture;
use crate::scenarios::log_format::{self, has, objects};

#[tokio::test(flavor = "multi_thread")]
async fn every_line_is_json() -> Result<()> {
    log_format::from_start_to_end("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn access_lines_have_the_format_of_the_configmap() -> Result<()> {
    log_format::of_the_access_log("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn panics_are_json() -> Result<()> {
    log_format::of_a_panic("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_a_remote_envoy_is_json() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let (authority, xds) = (Authority::new()?, Port::reserve()?);
    let (ours, theirs) = (
        authority.identity(CONTROLLER)?,
        authority.identity("envoy")?,
    );
    let certificates = ours.folder().display().to_string();
    let controller = Options::new(&fixture.manifests)
        .without_data_plane()
        .xds(xds.addr().to_string())
        .arguments(vec!["--xds-certificates".to_owned(), certificates])
        .start()
        .await?;
    let flags = ["--log-format=json", "--v=5"];
    let envoy = DataPlane::start_with(xds.addr(), &theirs, &flags).await?;
    envoy.ready().await?;
    let log = envoy.log().clone();
    envoy.stop()?;
    controller.stop()?;
    let objects = objects(&log.lines())?;
    ensure!(has(&objects, "envoy", ""), "{}", log.tail());
    ensure!(has(&objects, "sluice::envoy", "stopping"), "{}", log.tail());
    Ok(())
}

/// Errors of flags, of their values, and of what they name.
const FAIL: [(&str, i32); 9] = [
    ("run --manifests /nowhere", 1),
    ("run --no-such-flag", 2),
    ("run --http-port nowhere", 2),
    ("envoy --xds-address 127.0.0.1:1 --envoy-binary /nowhere", 1),
    ("envoy", 2),
    (
        "certgen create --namespace a --secret-name b --host c --kubeconfig /nowhere",
        1,
    ),
    ("certgen create", 2),
    ("firewall --socket /nowhere/socket", 1),
    ("firewall", 2),
];

#[test]
fn an_error_that_ends_a_start_is_one_line_of_json() -> Result<()> {
    for (line, code) in FAIL {
        for flag in [&["--log-format", "json"][..], &["--log-format=json"], &[]] {
            let mut command = Command::new(artifacts::sluice()?);
            command.args(line.split(' ')).args(flag);
            if flag.is_empty() {
                command.env("SLUICE_LOG_FORMAT", "json");
            }
            let output = command.env("RUST_LOG", "off").output()?;
            let stderr = String::from_utf8(output.stderr)?;
            ensure!(output.status.code() == Some(code), "{line}: {stderr}");
            let lines: Vec<String> = stderr.lines().map(str::to_owned).collect();
            ensure!(
                lines.len() == 1 && output.stdout.is_empty(),
                "{line}: {stderr}"
            );
            let objects = objects(&lines)?;
            ensure!(has(&objects, "sluice", ""), "{line}: {stderr}");
        }
    }
    Ok(())
}
