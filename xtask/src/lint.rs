//! Format, clippy (for the host and for the filter's target), and links of the documentation.

use anyhow::Result;

use crate::build::cargo;
use crate::setup::WASM_TARGET;
use crate::step::Step;

/// Fails on the first finding.
pub(crate) fn all() -> Result<()> {
    let mut step = Step::start("cargo fmt --check");
    step.run(cargo().args(["fmt", "--all", "--check"]))?;
    step.run(cargo().args([
        "fmt",
        "--check",
        "--manifest-path",
        "tests/libfuzzer/Cargo.toml",
    ]))?;
    step.done();
    clippy("clippy", &["--workspace", "--all-targets"])?;
    clippy(
        "clippy of the filter",
        &["-p", "sluice-filter", "--target", WASM_TARGET],
    )?;
    // A workspace of its own: its dependencies are not those that are there.
    clippy(
        "clippy of the fuzz targets",
        &[
            "--manifest-path",
            "tests/libfuzzer/Cargo.toml",
            "--target-dir",
            "target/libfuzzer",
        ],
    )?;
    documentation()
}

/// Every link in a comment leads somewhere.
fn documentation() -> Result<()> {
    let mut step = Step::start("cargo doc");
    let mut command = cargo();
    command
        .args([
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ])
        // Readers see private items, so a link to one leads somewhere.
        .env(
            "RUSTDOCFLAGS",
            "-Dwarnings -Arustdoc::private_intra_doc_links",
        );
    step.run(&mut command)?;
    step.done();
    Ok(())
}

fn clippy(title: &str, scope: &[&str]) -> Result<()> {
    let mut step = Step::start(title);
    step.run(
        cargo()
            .arg("clippy")
            .args(scope)
            .args(["--", "-D", "warnings"]),
    )?;
    step.done();
    Ok(())
}
