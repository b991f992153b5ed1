//! Golden cases: `tests/golden/<a-hyphenated-sentence>/in.yaml` and what `sluice render` makes of it.
//!
//! `UPDATE_GOLDEN=1` rewrites the outputs and removes those that are no longer made; then read the difference. Flags of
//! the controller stand in the input, in a first line `# flags: --disable-catch-all`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_tests::artifacts;

const INPUT: &str = "in.yaml";

#[test]
fn every_case_renders_as_written() -> Result<()> {
    let folder = artifacts::repository().join("tests/golden");
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    cases.sort();
    ensure!(!cases.is_empty(), "no case in {}", folder.display());
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = String::new();
    for case in &cases {
        let made = render(case).with_context(|| case.display().to_string())?;
        if update {
            write(case, &made)?;
        } else {
            compare(case, &made, &mut failures)?;
        }
    }
    ensure!(
        failures.is_empty(),
        "{failures}\nUPDATE_GOLDEN=1 accepts what is made now"
    );
    Ok(())
}

/// The files that `sluice render` makes of a case. Twice, because the same input gives the same bytes.
fn render(case: &Path) -> Result<BTreeMap<String, String>> {
    let first = render_once(case)?;
    ensure!(first == render_once(case)?, "two runs differ");
    Ok(first)
}

fn render_once(case: &Path) -> Result<BTreeMap<String, String>> {
    let input = fs::read_to_string(case.join(INPUT)).context("a case has an in.yaml")?;
    let folder = tempfile::tempdir()?;
    let (manifests, out) = (folder.path().join("manifests"), folder.path().join("out"));
    fs::create_dir(&manifests)?;
    fs::write(manifests.join(INPUT), &input)?;
    let flags = input
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# flags: "))
        .unwrap_or_default();
    let done = Command::new(artifacts::sluice()?)
        .arg("render")
        .arg("--manifests")
        .arg(&manifests)
        .arg("--out")
        .arg(&out)
        .args(flags.split_whitespace())
        .output()?;
    ensure!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    read(&out)
}

fn read(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        files.insert(name, fs::read_to_string(&path)?);
    }
    Ok(files)
}

fn write(case: &Path, made: &BTreeMap<String, String>) -> Result<()> {
    for name in read(case)?
        .keys()
        .filter(|name| *name != INPUT && !made.contains_key(*name))
    {
        fs::remove_file(case.join(name))?;
    }
    for (name, text) in made {
        fs::write(case.join(name), text)?;
    }
    Ok(())
}

fn compare(case: &Path, made: &BTreeMap<String, String>, failures: &mut String) -> Result<()> {
    let mut expected = read(case)?;
    expected.remove(INPUT);
    let sentence = case
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .replace('-', " ");
    for name in expected
        .keys()
        .chain(made.keys().filter(|name| !expected.contains_key(*name)))
    {
        match (expected.get(name), made.get(name)) {
            (Some(expected), Some(made)) if expected == made => {}
            (Some(expected), Some(made)) => {
                *failures += &format!(
                    "{sentence}: {name}:\n{}\n",
                    StrComparison::new(expected, made)
                );
            }
            (Some(_), None) => *failures += &format!("{sentence}: {name}: is no longer made\n"),
            (None, _) => *failures += &format!("{sentence}: {name}: is new\n"),
        }
    }
    Ok(())
}
