//! Commands of `sluice` and of `cargo xtask` in pages: they exist, with these flags, and those that end by themselves are run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts::{self, repository};

use crate::flags::{help, listed_commands};

/// Folders with pages, and the pages of the root.
const FOLDERS: [&str; 9] = [
    "",
    "docs",
    "envoy",
    "examples/hello",
    "examples/drop-in-envoy",
    "examples/firewall",
    "nginx-wasm",
    "controller/deploy/helm/sluice",
    "tests/cases",
];
/// A page of what was, with flags that are gone.
const HISTORY: &str = "CHANGELOG.md";

/// As pages write them: in code, up to its end or to what a shell does with it.
pub(crate) struct Documented {
    pub(crate) page: PathBuf,
    pub(crate) words: Vec<String>,
}

#[test]
fn documented_commands_exist_with_their_flags() -> Result<()> {
    let mut helps: BTreeMap<String, String> = BTreeMap::new();
    let all = documented("sluice ")?;
    ensure!(all.len() > 30, "{} commands found", all.len());
    for Documented { page, words } in all {
        let Some(first) = words.first().filter(|word| is_a_command(word)) else {
            continue;
        };
        let mut command = first.clone();
        for word in words.iter().skip(1).map(Some).chain([None]) {
            if !helps.contains_key(&command) {
                let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
                let text = help(&words).with_context(|| page.display().to_string())?;
                helps.insert(command.clone(), text);
            }
            let mut below = listed_commands(&helps[&command]);
            match word.filter(|word| below.any(|name| name == word.as_str())) {
                Some(word) => command = format!("{command} {word}"),
                None => break,
            }
        }
        for flag in words.iter().filter_map(|word| flag(word)) {
            ensure!(
                helps[&command].contains(&format!("{flag}["))
                    || helps[&command].contains(&format!("{flag} ")),
                "{}: sluice {command} has no {flag}",
                page.display()
            );
        }
    }
    Ok(())
}

#[test]
fn documented_tasks_exist() -> Result<()> {
    let help = fs::read_to_string(repository().join("xtask/src/main.rs"))?;
    let commands = documented("cargo xtask ")?;
    ensure!(commands.len() > 20, "{} commands found", commands.len());
    for Documented { page, words } in commands {
        let Some(task) = words.first().filter(|word| is_a_command(word)) else {
            continue;
        };
        ensure!(
            help.contains(&format!("        \"{task}\" =>")),
            "{}: there is no cargo xtask {task}",
            page.display()
        );
    }
    Ok(())
}

/// `DIR` stands for a folder of manifests, `OUT` for one that is written.
#[test]
fn documented_commands_that_end_succeed() -> Result<()> {
    let out = tempfile::tempdir()?;
    let mut run = 0;
    for Documented { page, words } in documented("sluice ")? {
        let is_one_shot = words
            .first()
            .is_some_and(|word| word == "lint" || word == "render")
            && words.iter().any(|word| word == "DIR");
        if !is_one_shot {
            continue;
        }
        let arguments = words.iter().map(|word| match word.as_str() {
            "DIR" => repository().join("examples/hello/manifests"),
            "OUT" => out.path().to_owned(),
            other => other.into(),
        });
        let output = Command::new(artifacts::sluice()?)
            .args(arguments)
            .output()?;
        ensure!(
            output.status.success(),
            "{}: {words:?}: {output:?}",
            page.display()
        );
        run += 1;
    }
    ensure!(run > 4, "{run} commands were run");
    Ok(())
}

pub(crate) fn documented(program: &str) -> Result<Vec<Documented>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(repository().join(folder))? {
            let page = entry?.path();
            if page.extension().is_some_and(|kind| kind == "md") && !page.ends_with(HISTORY) {
                let text = fs::read_to_string(&page)?.replace("\\\n", " ");
                found.extend(text.lines().flat_map(|line| commands(&page, line, program)));
            }
        }
    }
    Ok(found)
}

fn commands(page: &Path, line: &str, program: &str) -> Vec<Documented> {
    let rests = line.match_indices(program).filter(|(at, _)| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(|letter| "` ".contains(letter))
    });
    rests
        .map(|(at, _)| {
            let is_plugin = line[..at].ends_with("kubectl ");
            let plugin = is_plugin.then(|| "kubectl".to_owned());
            Documented {
                page: page.to_owned(),
                words: plugin
                    .into_iter()
                    .chain(words(&line[at + program.len()..]))
                    .collect(),
            }
        })
        .collect()
}

fn words(rest: &str) -> Vec<String> {
    let end = rest.find(['`', '#', '|', '&', ';', ',', '(', ')']);
    let command = &rest[..end.unwrap_or(rest.len())];
    command.split_whitespace().map(str::to_owned).collect()
}

/// Prose goes on with any word (`sluice and its Envoy`), and pages name what a user chooses in capitals.
fn is_a_command(word: &str) -> bool {
    const PROSE: [&str; 4] = ["and", "controller", "in", "is"];
    !PROSE.contains(&word)
        && !word.starts_with('-')
        && word
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

fn flag(word: &str) -> Option<&str> {
    let name = word.split('=').next()?;
    name.starts_with("--").then_some(name)
}
