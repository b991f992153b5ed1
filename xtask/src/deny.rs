//! Dependencies: their licences, sources and advisories, as `.ci/deny.toml` has them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::cargo;
use crate::step::{Step, say};
use crate::{repository, target};

const VERSION: &str = "0.20.2";

/// Fails on the first finding. Without the database of advisories, which is at github.com, everything else is checked and that is
/// said.
pub(crate) fn all() -> Result<()> {
    let program = program()?;
    let mut step = Step::start("licences, bans and sources of dependencies");
    step.run(&mut deny(
        &program,
        &["check", "licenses", "bans", "sources"],
    ))?;
    step.done();
    let mut step = Step::start("advisories");
    let (fetched, output) = step.capture(&mut deny(&program, &["fetch", "db"]))?;
    if !fetched.success() {
        let reason = output
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .trim();
        say(&format!(
            "  ! advisories were NOT checked: their database could not be fetched ({reason})"
        ));
        return Ok(());
    }
    step.run(&mut deny(&program, &["--offline", "check", "advisories"]))?;
    step.done();
    Ok(())
}

fn deny(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(repository())
        .args(["--locked", "--color", "never", "--config"]);
    command
        .arg(repository().join(".ci/deny.toml"))
        .args(arguments);
    command
}

/// Built once: there is no package of it that is fetched as Envoy is.
fn program() -> Result<PathBuf> {
    let root = target().join("tools");
    let program = root.join("bin/cargo-deny");
    let mut step = Step::start(&format!("cargo-deny {VERSION}"));
    if !is_current(&program) {
        let mut install = cargo();
        // Its own target folder, and nothing optimised: it runs for a second, and compiles for minutes as it is.
        install
            .args([
                "install",
                "--locked",
                "--debug",
                "--quiet",
                "--no-track",
                "--force",
                "--root",
            ])
            .arg(&root);
        install
            .arg("--target-dir")
            .arg(root.join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "none");
        install.arg(format!("cargo-deny@{VERSION}"));
        step.run(&mut install)
            .context("cargo-deny is built from crates.io")?;
    }
    step.done();
    Ok(program)
}

fn is_current(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("cargo-deny {VERSION}")
    })
}
