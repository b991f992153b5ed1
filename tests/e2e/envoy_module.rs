//! The filter as a module of Envoy: what it needs of Envoy, which Envoy it is for, and what becomes of a panic. All other tests of an
//! Envoy of our own run it, too.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::http;
use sluice_tests::load::Load;
use sluice_tests::proc;
use sluice_tests::sluice::Options;
use sluice_tests::wait;
use tempfile::TempDir;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};

const CALLBACK: &str = "envoy_dynamic_module_callback_";

/// Names in the string tables of a program.
fn callbacks(program: &Path) -> Result<BTreeSet<String>> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    let words = bytes.split(|byte| *byte == 0);
    let named = words.filter(|word| word.starts_with(CALLBACK.as_bytes()));
    Ok(named
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect())
}

/// The loader binds them when Envoy opens the module, which it refuses if one is missing; this test says which.
#[test]
fn envoy_has_every_function_that_the_module_calls() -> Result<()> {
    let needed = callbacks(&artifacts::envoy_module()?)?;
    let offered = callbacks(&artifacts::envoy()?)?;
    ensure!(
        needed.len() > 20,
        "expected the names of all, got {needed:?}"
    );
    let missing: Vec<&String> = needed.difference(&offered).collect();
    ensure!(missing.is_empty(), "Envoy has no {missing:?}");
    Ok(())
}

fn with_module(fixture: &Fixture, module: &Path) -> Options {
    Options::new(&fixture.manifests).arguments(vec![
        "--native-balancing=off".to_owned(),
        "--envoy-module".to_owned(),
        module.display().to_string(),
    ])
}

#[tokio::test]
async fn a_panic_leaves_the_request_to_envoys_own_balancing() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let sluice = with_module(&fixture, &artifacts::debug_envoy_module()?)
        .environment(artifacts::FAULTS, "1")
        .start()
        .await?;
    for attempt in 0..2 {
        let hit = http::send(sluice.http(), &page().header("x-test-panic", "1")).await?;
        ensure!(hit.status == 200, "panic {attempt}: {}", hit.status);
        // The worker of the filter is a new one, and balances.
        ensure_even_spread(sluice.http(), &[0, 1]).await?;
    }
    sluice.stop()
}

/// An Envoy that says that it is of another version.
fn of_version(version: &str) -> Result<(TempDir, PathBuf)> {
    let folder = TempDir::new()?;
    let path = folder.path().join("envoy");
    let envoy = artifacts::envoy()?;
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo \"envoy  version: 9e55/{version}/Clean/RELEASE/BoringSSL\" && exit\n\
         exec {} \"$@\"\n",
        envoy.display()
    );
    fs::write(&path, text)?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok((folder, path))
}

#[tokio::test]
async fn an_envoy_of_another_version_gets_the_filter_as_wasm() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let (_folder, envoy) = of_version("1.39.2")?;
    let options = || Options::new(&fixture.manifests).envoy(&envoy);
    let sluice = options().start().await?;
    sluice.log().wait_for("the filter runs as wasm").await?;
    sluice
        .log()
        .wait_for("is Envoy 1.39.2, and the module is for 1.40.x")
        .await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    sluice.stop()?;

    let insisted = options().arguments(vec!["--envoy-filter=module".to_owned()]);
    let error = match insisted.start().await {
        Ok(_) => anyhow::bail!("it runs with an Envoy that the module is not for"),
        Err(error) => format!("{error:#}"),
    };
    ensure!(error.contains("--envoy-filter module"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_module_that_envoy_cannot_load_leaves_the_filter_as_wasm() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let folder = TempDir::new()?;
    let module = folder.path().join("libsluice_envoy.so");
    fs::write(&module, "no library")?;
    let sluice = with_module(&fixture, &module).start().await?;
    sluice.log().wait_for("the filter runs as wasm").await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    sluice.stop()?;

    let insisted =
        with_module(&fixture, &module).arguments(vec!["--envoy-filter=module".to_owned()]);
    let error = match insisted.start().await {
        Ok(_) => anyhow::bail!("it runs with a module that is none"),
        Err(error) => format!("{error:#}"),
    };
    ensure!(error.contains("does not load"), "{error}");
    Ok(())
}

/// A program keeps a library that it has opened, whatever its file says later.
#[tokio::test]
async fn an_envoy_with_another_module_is_replaced() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let folder = TempDir::new()?;
    let module = folder.path().join("libsluice_envoy.so");
    fs::copy(artifacts::envoy_module()?, &module)?;
    let mut first = with_module(&fixture, &module).start().await?;
    let former = first.data_plane_pid().context("no Envoy")?;
    first.kill()?;

    let staged = folder.path().join("new");
    // The loader reads nothing behind the last section.
    let mut bytes = fs::read(artifacts::envoy_module()?)?;
    bytes.push(0);
    fs::write(&staged, bytes)?;
    fs::rename(&staged, &module)?;
    let load = Load::new(first.http(), page()).start();
    let second = with_module(&fixture, &module).after(&first).start().await?;
    wait::until("the former Envoy to end", async || {
        (!proc::is_running(former)).then_some(())
    })
    .await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    second.stop()
}
