//! Recordings of a running ingress-nginx (`tests/recordings`), played on each data plane and in each mode.
//!
//! A difference is one of `accepted.toml`, or is counted by field in `unexplained-MODE.txt`, which only becomes shorter:
//! `UPDATE_GOLDEN=1` writes it, and `cargo xtask recordings FILE` says which requests they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use pretty_assertions::StrComparison;
use sluice_tests::artifacts;
use sluice_tests::cases::Selection;
use sluice_tests::recordings::file::Recording;
use sluice_tests::recordings::play;
use sluice_tests::recordings::rules::Rules;

const FILES: [&str; 2] = ["matrix.json", "hostile.json"];

fn folder() -> PathBuf {
    artifacts::repository().join("tests/recordings")
}

/// Plays both files, and compares with the list of a mode.
async fn compare(mode: &str, data_plane: &str, flags: &[&str]) -> Result<()> {
    let rules = Rules::read(&folder().join("accepted.toml"))?;
    let (mut unexplained, mut used) = (BTreeMap::new(), BTreeSet::new());
    for file in FILES {
        let recording = Recording::read(&folder().join(file))?;
        let selection = Selection {
            data_plane: data_plane.to_owned(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Selection::default()
        };
        for played in play(&recording, &selection).await? {
            for difference in &played.differences {
                match rules.explain(data_plane, &played, difference) {
                    Some((rule, n)) => drop(used.insert((rule.to_owned(), n))),
                    None => *unexplained.entry(difference.field.clone()).or_insert(0) += 1,
                }
            }
        }
    }
    let needless: Vec<_> = rules
        .needed(data_plane)
        .filter(|(rule, n)| !used.contains(&((*rule).to_owned(), *n)))
        .collect();
    ensure!(
        needless.is_empty(),
        "no difference needs these patterns of rules: {needless:?}"
    );
    against(
        &folder().join(format!("unexplained-{mode}.txt")),
        &unexplained,
    )
}

fn against(list: &Path, found: &BTreeMap<String, usize>) -> Result<()> {
    let lines: String = found
        .iter()
        .map(|(field, count)| format!("{count:>5}  {field}\n"))
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(list, lines).with_context(|| list.display().to_string());
    }
    let listed = fs::read_to_string(list).with_context(|| list.display().to_string())?;
    ensure!(
        listed == lines,
        "{}: UPDATE_GOLDEN=1 writes it\n{}",
        list.display(),
        StrComparison::new(&listed, &lines)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_answers_as_recorded() -> Result<()> {
    compare("envoy", "envoy", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_in_scopes_answers_as_recorded() -> Result<()> {
    compare("envoy-scopes", "envoy", &["--scopes-from=1"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_answers_as_recorded() -> Result<()> {
    compare("nginx", "nginx", &[]).await
}
