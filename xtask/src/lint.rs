//! Format and clippy, for the host and for the filter's target.

use anyhow::Result;

use crate::build::cargo;
use crate::setup::WASM_TARGET;
use crate::step::Step;

/// Fails on the first finding.
pub(crate) fn all() -> Result<()> {
    let mut step = Step::start("cargo fmt --check");
    step.run(cargo().args(["fmt", "--all", "--check"]))?;
    step.done();
    clippy("clippy", &["--workspace", "--all-targets"])?;
    clippy("clippy of the filter", &["-p", "sluice-filter", "--target", WASM_TARGET])
}

fn clippy(title: &str, scope: &[&str]) -> Result<()> {
    let mut step = Step::start(title);
    step.run(cargo().arg("clippy").args(scope).args(["--", "-D", "warnings"]))?;
    step.done();
    Ok(())
}
