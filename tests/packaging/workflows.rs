//! The workflows of GitHub Actions: valid, with pinned actions and few rights, and calling tasks that there are.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts::repository;

use crate::chart::read_yaml;

fn workflows() -> Result<Vec<(String, Value)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(repository().join(".github/workflows"))? {
        let path = entry?.path();
        let name = path.file_name().context("no name")?;
        found.push((name.to_string_lossy().into_owned(), read_yaml(&path)?));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    let jobs = workflow["jobs"].as_object().into_iter().flatten();
    jobs.flat_map(|(_, job)| job["steps"].as_array().into_iter().flatten())
}

#[test]
fn workflows_are_those_for_lint_test_audit_site_and_release() -> Result<()> {
    let workflows = workflows()?;
    let names: Vec<&str> = workflows.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(
        names
            == [
                "audit.yml",
                "lint.yml",
                "release.yml",
                "site.yml",
                "test.yml"
            ],
        "{names:?}"
    );
    for (name, workflow) in &workflows {
        ensure!(workflow["on"].is_object(), "{name}: no trigger");
        ensure!(
            workflow["permissions"] == serde_json::json!({"contents": "read"}),
            "{name}: more rights than reading"
        );
        let jobs = workflow["jobs"].as_object().with_context(|| name.clone())?;
        for (id, job) in jobs {
            ensure!(job["runs-on"].is_string(), "{name}: {id}: no machine");
            ensure!(
                job["timeout-minutes"].is_u64(),
                "{name}: {id}: no time limit"
            );
        }
        ensure!(steps(workflow).count() > 1, "{name}: no steps");
    }
    Ok(())
}

/// A job with more rights than reading, all that it runs, and the steps of others that it takes.
struct Writer {
    name: &'static str,
    rights: Value,
    actions: &'static [&'static str],
    programs: &'static [&'static str],
}

/// Jobs that publish what other jobs have built; a release is one of them.
fn writers() -> [Writer; 2] {
    [
        Writer {
            name: "release.yml: publish",
            rights: serde_json::json!({"contents": "write", "id-token": "write", "attestations": "write"}),
            actions: &[
                "actions/download-artifact",
                "actions/attest-build-provenance",
            ],
            programs: &["cd files && sha256sum ", "gh release create "],
        },
        Writer {
            name: "site.yml: publish",
            rights: serde_json::json!({"pages": "write", "id-token": "write"}),
            actions: &["actions/deploy-pages"],
            programs: &[],
        },
    ]
}

#[test]
fn nothing_but_publishing_a_tag_may_write_and_that_runs_no_code_of_the_repository() -> Result<()> {
    let mut found = Vec::new();
    for (name, workflow) in workflows()? {
        let is_of_tags = workflow["on"] == serde_json::json!({"push": {"tags": ["v*"]}});
        for (id, job) in workflow["jobs"].as_object().into_iter().flatten() {
            if job["permissions"].is_null() {
                continue;
            }
            let name = format!("{name}: {id}");
            let writers = writers();
            let writer = writers.iter().find(|writer| writer.name == name);
            let writer = writer.with_context(|| format!("{name} may not write"))?;
            ensure!(
                job["permissions"] == writer.rights,
                "{name}: {}",
                writer.rights
            );
            let condition = job["if"].as_str().unwrap_or_default();
            ensure!(
                is_of_tags || condition == "startsWith(github.ref, 'refs/tags/v')",
                "{name} is not of tags alone"
            );
            for step in job["steps"].as_array().context("no steps")? {
                let action = step["uses"]
                    .as_str()
                    .and_then(|uses| uses.split('@').next());
                let run = step["run"].as_str().unwrap_or_default();
                let is_known = action.is_some_and(|action| writer.actions.contains(&action))
                    || writer
                        .programs
                        .iter()
                        .any(|program| run.starts_with(program));
                ensure!(is_known, "{name}: {step}");
            }
            found.push(name);
        }
    }
    let expected = writers().map(|writer| writer.name);
    ensure!(found == expected, "{found:?}");
    Ok(())
}

/// The files that krew fetches are among those of a release.
#[test]
fn a_release_has_notes_checksums_and_provenance() -> Result<()> {
    let workflow = read_yaml(&repository().join(".github/workflows/release.yml"))?;
    let text = workflow.to_string();
    for part in [
        "cargo xtask notes",
        "--notes-file files/NOTES.md",
        "SHA256SUMS",
        "actions/attest-build-provenance@",
        "releases/download/${{ github.ref_name }}",
    ] {
        ensure!(text.contains(part), "no {part}");
    }
    let needs = &workflow["jobs"]["publish"]["needs"];
    ensure!(
        *needs == serde_json::json!(["build", "plugin", "images"]),
        "{needs}"
    );
    Ok(())
}

/// The tasks that `cargo xtask help` lists.
fn tasks() -> Result<Vec<String>> {
    let text = fs::read_to_string(repository().join("xtask/src/main.rs"))?;
    let (_, dispatch) = text.split_once("match task {").context("no tasks")?;
    let names = dispatch
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next());
    Ok(names.map(str::to_owned).collect())
}

#[test]
fn workflows_call_tasks_that_there_are() -> Result<()> {
    let tasks = tasks()?;
    let mut calls = 0;
    for (name, workflow) in workflows()? {
        for step in steps(&workflow) {
            let run = step["run"].as_str().unwrap_or_default();
            for (at, _) in run.match_indices("cargo xtask ") {
                let task = run[at..].split_whitespace().nth(2).unwrap_or_default();
                ensure!(
                    tasks.iter().any(|known| known == task),
                    "{name}: there is no task {task}"
                );
                calls += 1;
            }
            for script in run
                .split_whitespace()
                .filter(|word| word.starts_with(".ci/"))
            {
                ensure!(
                    repository().join(script).is_file(),
                    "{name}: there is no {script}"
                );
            }
        }
    }
    ensure!(calls > 3, "{calls} calls");
    Ok(())
}

/// A tag can be moved; a workflow of ours runs nothing of others but GitHub's own actions.
#[test]
fn actions_are_githubs_own_and_keep_no_credentials() -> Result<()> {
    for (name, workflow) in workflows()? {
        for step in steps(&workflow) {
            let Some(action) = step["uses"].as_str() else {
                continue;
            };
            ensure!(action.starts_with("actions/"), "{name}: {action}");
            if action.starts_with("actions/checkout@") {
                ensure!(
                    step["with"]["persist-credentials"] == false,
                    "{name}: {action} keeps credentials"
                );
            }
        }
    }
    Ok(())
}
