//! `commands.toml`: commands that are run elsewhere, or nowhere, and how some of the others are run.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sluice_tests::artifacts::repository;

use super::blocks::Command;

const FILE: &str = "tests/docs/scripts/commands.toml";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listed {
    #[serde(default)]
    elsewhere: Vec<Elsewhere>,
    #[serde(default)]
    nowhere: Vec<Nowhere>,
    /// Commands that end when they are told to.
    servers: Vec<String>,
    /// Commands whose output is on the page, where a block of text is behind them.
    outputs: Vec<String>,
}

/// Commands that another test or a workflow runs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    /// Its file, and a text in there that does it.
    file: String,
    says: String,
    /// One page; otherwise all.
    page: Option<String>,
    commands: Vec<String>,
}

/// Commands that this machine cannot run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nowhere {
    why: String,
    commands: Vec<String>,
}

/// Treatment of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Run,
    RunInBackground,
    RunForOutput,
    Listed,
}

impl Listed {
    pub(crate) fn read() -> Result<Listed> {
        let text = fs::read_to_string(repository().join(FILE)).context(FILE)?;
        let listed: Listed = toml::from_str(&text).context(FILE)?;
        for Elsewhere { file, says, .. } in &listed.elsewhere {
            let text = fs::read_to_string(repository().join(file)).with_context(|| file.clone())?;
            ensure!(text.contains(says), "{FILE}: {file} does not say {says:?}");
        }
        for Nowhere { why, commands } in &listed.nowhere {
            ensure!(!why.is_empty(), "{FILE}: no reason for {commands:?}");
        }
        Ok(listed)
    }

    pub(crate) fn fate(&self, command: &Command) -> Fate {
        let name = command.name();
        let is_elsewhere = self.elsewhere.iter().any(|listed| {
            let is_its_page = listed
                .page
                .as_ref()
                .is_none_or(|page| *page == command.page);
            is_its_page && listed.commands.contains(&name)
        });
        let is_nowhere = self.nowhere.iter().any(|it| it.commands.contains(&name));
        if is_elsewhere || is_nowhere {
            Fate::Listed
        } else if self.servers.contains(&name) {
            Fate::RunInBackground
        } else if self.outputs.contains(&name) && command.output.is_some() {
            Fate::RunForOutput
        } else {
            Fate::Run
        }
    }

    /// Entries of commands that no page has, or has without their output.
    pub(crate) fn stale(&self, commands: &[Command]) -> Vec<String> {
        let elsewhere = self.elsewhere.iter().flat_map(|it| &it.commands);
        let nowhere = self.nowhere.iter().flat_map(|it| &it.commands);
        let is_there = |listed: &String| commands.iter().any(|it| it.name() == *listed);
        let listed = elsewhere.chain(nowhere).chain(&self.servers);
        let listed = listed.filter(|listed| !is_there(listed));
        let has_output = |listed: &String| {
            let mut named = commands.iter().filter(|it| it.name() == *listed);
            named.any(|it| it.output.is_some())
        };
        let outputs = self.outputs.iter().filter(|listed| !has_output(listed));
        listed.chain(outputs).cloned().collect()
    }
}
