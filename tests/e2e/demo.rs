//! The first thing that a user runs.

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use tokio::process::Command;

#[tokio::test]
async fn demo_traffic_follows_changes_without_failures() -> Result<()> {
    check(&[]).await
}

#[tokio::test]
async fn demo_traffic_follows_changes_through_nginx() -> Result<()> {
    check(&["--data-plane", "nginx"]).await
}

/// Whoever tries both at once sees both.
#[tokio::test]
async fn demos_can_run_concurrently() -> Result<()> {
    let nginx = ["--data-plane", "nginx"];
    let all: [&[&str]; 3] = [&[], &nginx, &[]];
    try_join_all(all.map(check)).await.map(drop)
}

async fn check(arguments: &[&str]) -> Result<()> {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_sluice-demo"));
    // On a fresh clone nothing has built it.
    demo.env("SLUICE_ENVOY_MODULE", "/nowhere/libsluice_envoy.so");
    let output = demo.arg("--check").args(arguments).output().await?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(output.status.success(), "{}: {text}", output.status);
    for line in ["traffic followed", "0 of "] {
        ensure!(text.contains(line), "no {line:?} in: {text}");
    }
    Ok(())
}
