//! A data plane that cannot start: the process says why, tries again, and ends when that does not help.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::sluice::Options;
use tempfile::TempDir;

use crate::fixture::Fixture;

const STARTS: u32 = 3;

/// A program that answers what it is asked about itself as the other one, and does not start.
fn broken(folder: &TempDir, program: &Path, questions: &str) -> Result<PathBuf> {
    let answers = format!("{questions}) exec {} \"$@\";;", program.display());
    broken_with(folder, &answers)
}

/// The same with the cases of its answers.
fn broken_with(folder: &TempDir, answers: &str) -> Result<PathBuf> {
    let place = folder.path().join("broken");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in {answers} esac\necho 'no room for the shared memory' >&2\nexit 7\n"
    );
    fs::write(&place, text)?;
    fs::set_permissions(&place, Permissions::from_mode(0o755))?;
    Ok(place)
}

async fn ends_after_some_tries(
    name: &str,
    with: impl FnOnce(Options, &TempDir) -> Result<Options>,
) -> Result<Vec<String>> {
    let (fixture, folder) = (Fixture::start(1, 1).await?, tempfile::tempdir()?);
    let flag = format!("--max-failed-starts={STARTS}");
    let options = Options::new(&fixture.manifests).arguments(vec![flag]);
    let sluice = with(options, &folder)?.spawn()?;
    let log = sluice.log().clone();
    let status = sluice.exit_status().await?;
    ensure!(status.code() == Some(1), "{status}\n{}", log.tail());
    let lines = log.lines();
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    ensure!(
        count("INFO no room for the shared memory") == STARTS as usize,
        "{}",
        log.tail()
    );
    // Whether it is gone before it has been adopted or after.
    let exits = count("exit status: 7") + count("it exited at once");
    ensure!(exits == STARTS as usize, "{}", log.tail());
    // Its own words are in the line of the exit, whichever levels are read.
    let words = "its last line was \"no room for the shared memory\"";
    ensure!(count(words) == STARTS as usize, "{}", log.tail());
    let end = format!("{name} did not start in {STARTS} attempts; giving up");
    ensure!(count(&end) == 1, "{}", log.tail());
    Ok(lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_that_cannot_start_ends_the_controller() -> Result<()> {
    ends_after_some_tries("envoy", |options, folder| {
        let envoy = broken(folder, &artifacts::envoy()?, "*--version*|*validate*")?;
        Ok(options.envoy(&envoy))
    })
    .await
    .map(drop)
}

/// Before it starts, and by name.
#[tokio::test(flavor = "multi_thread")]
async fn operator_is_warned_of_an_envoy_with_a_known_flaw() -> Result<()> {
    let lines = ends_after_some_tries("envoy", |options, folder| {
        let version =
            "*--version*) echo 'envoy  version: 0/1.39.0/Clean/RELEASE/BoringSSL'; exit;;";
        Ok(options.envoy(&broken_with(folder, version)?))
    })
    .await?;
    let warned = lines
        .iter()
        .find(|line| line.contains("CVE-2026-73548"))
        .context("no warning")?;
    ensure!(
        warned.contains("WARN") && warned.contains("Envoy 1.39.0 ") && warned.contains("1.40"),
        "{warned}"
    );
    Ok(())
}

/// Not only a process that ends: without a configuration that it takes there is none.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_that_takes_no_configuration_ends_the_controller() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let text = folder.path().join("module.so");
    fs::write(&text, "no module")?;
    let of_envoy = artifacts::envoy_module()?;
    for module in [&text, &of_envoy] {
        ends_without_module(module).await?;
    }
    Ok(())
}

/// The module is named, and nothing is said of settings.
async fn ends_without_module(module: &Path) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let flags = vec![
        "--max-failed-starts=2".to_owned(),
        format!("--nginx-module={}", module.display()),
    ];
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options.arguments(flags).spawn()?;
    let log = sluice.log().clone();
    let status = sluice.exit_status().await?;
    ensure!(status.code() == Some(1), "{status}\n{}", log.tail());
    let lines = log.lines();
    for text in [
        "nginx refuses the configuration; there is no other yet: ",
        "nginx has refused its first configuration 2 times: ",
        "nginx did not start in 2 attempts; giving up",
    ] {
        let said = lines.iter().filter(|line| line.contains(text)).count();
        ensure!(said == 1, "{text}: {}", log.tail());
    }
    let of_module = |line: &&String| line.contains("--nginx-module");
    let name = module.display().to_string();
    let said = lines.iter().filter(of_module);
    ensure!(
        said.filter(|line| line.contains(&name)).count() == 2,
        "{}",
        log.tail()
    );
    let of_settings = lines
        .iter()
        .any(|line| line.contains("settings of all hosts"));
    ensure!(!of_settings, "{}", log.tail());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_that_cannot_start_ends_the_controller() -> Result<()> {
    ends_after_some_tries("nginx", |options, folder| {
        let nginx = artifacts::nginx().context("nginx")?;
        let nginx = broken(folder, &nginx, "*\\ -V\\ *|*\\ -v\\ *|*\\ -t\\ *")?;
        Ok(options.data_plane("nginx").nginx(&nginx))
    })
    .await
    .map(drop)
}
