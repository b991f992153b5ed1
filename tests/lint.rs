//! `sluice lint` on manifests as people write them: `tests/lint/<a-hyphenated-sentence>.yaml` and, beside it, what is said.
//!
//! `UPDATE_GOLDEN=1` writes what is said now; then read it as the owner of the manifest would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_tests::artifacts;

#[test]
fn every_manifest_is_judged_as_written() -> Result<()> {
    let folder = artifacts::repository().join("tests/lint");
    let files = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    let mut cases: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    cases.sort();
    ensure!(!cases.is_empty(), "no case in {}", folder.display());
    let mut failures = String::new();
    for case in &cases {
        let said = lint(case).with_context(|| case.display().to_string())?;
        let expected = case.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&expected, &said)?;
        } else {
            let expected = fs::read_to_string(&expected).unwrap_or_default();
            if expected != said {
                failures += &format!(
                    "{}:\n{}\n",
                    case.display(),
                    StrComparison::new(&expected, &said)
                );
            }
        }
    }
    ensure!(
        failures.is_empty(),
        "{failures}\nUPDATE_GOLDEN=1 accepts what is said now"
    );
    Ok(())
}

/// The output on the terminal, and the exit code.
fn lint(manifest: &Path) -> Result<String> {
    // The folder of the repository must not be part of what is said.
    let folder = manifest.parent().context("folder")?;
    let name = manifest.file_name().context("name")?;
    let done = Command::new(artifacts::sluice()?)
        .current_dir(folder)
        .arg("lint")
        .arg("--manifests")
        .arg(name)
        .output()?;
    ensure!(
        done.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(format!(
        "{}exit code {}\n",
        String::from_utf8(done.stdout)?,
        done.status.code().context("exit code")?
    ))
}
