//! Dependencies: their licences, sources and advisories, as `.ci/deny.toml` has them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::repository;
use crate::setup::{Tool, tool};
use crate::step::{Step, say};

const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    features: None,
};

/// Fails on the first finding. Without the database of advisories, which is at github.com, everything else is checked and that is
/// said.
pub(crate) fn all() -> Result<()> {
    let program = tool(&DENY)?;
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
