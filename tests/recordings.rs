//! Recordings of a running ingress-nginx (`tests/recordings`), played on each data plane and in each mode.
//!
//! All differences are of the kinds in `accepted.toml`, and no kind is there without one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::cases::Selection;
use sluice_tests::recordings::file::Recording;
use sluice_tests::recordings::rules::Rules;
use sluice_tests::recordings::{Played, play};

const FILES: [&str; 2] = ["matrix.json", "hostile.json"];

fn folder() -> PathBuf {
    artifacts::repository().join("tests/recordings")
}

/// Plays both files.
async fn compare(data_plane: &str, flags: &[&str]) -> Result<()> {
    let rules = Rules::read(&folder().join("accepted.toml"))?;
    let (mut unexplained, mut used) = (Vec::new(), BTreeSet::new());
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
                    None => {
                        let Played {
                            id,
                            number,
                            request,
                            ..
                        } = &played;
                        unexplained.push(format!("{id} #{number} {request}\n    {difference}"));
                    }
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
    let unexplained = unexplained.join("\n");
    ensure!(
        unexplained.is_empty(),
        "no rule of accepted.toml explains:\n{unexplained}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_answers_as_recorded() -> Result<()> {
    compare("envoy", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_in_scopes_answers_as_recorded() -> Result<()> {
    compare("envoy", &["--scopes-from=1"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_answers_as_recorded() -> Result<()> {
    compare("nginx", &[]).await
}
