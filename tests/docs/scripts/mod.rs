//! Every command of every README and page: run as a reader would run it, or listed in `commands.toml` with the test that runs it, or with
//! the reason why this machine cannot.
//!
//! A reader's cluster is a fake API server with a real controller and Envoy; `kubectl`, `helm`, `envoy` and `curl` are real. A page is one
//! shell script, so variables and folders of a command are there for those below it.

mod blocks;
mod cluster;
mod listed;
mod stage;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use blocks::Command;
use listed::{Fate, Listed};
use stage::Stage;

#[test]
fn commands_that_are_not_run_are_on_a_page() -> Result<()> {
    let commands = blocks::commands()?;
    ensure!(commands.len() > 60, "{} commands found", commands.len());
    let stale = Listed::read()?.stale(&commands);
    ensure!(stale.is_empty(), "no page has {stale:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_pages_run_as_written() -> Result<()> {
    let (commands, listed) = (blocks::commands()?, Listed::read()?);
    let mut pages: BTreeMap<&str, Vec<(&Command, Fate)>> = BTreeMap::new();
    for command in &commands {
        let fate = listed.fate(command);
        if fate != Fate::Listed {
            pages
                .entry(&command.page)
                .or_default()
                .push((command, fate));
        }
    }
    let stage = Stage::start().await?;
    for (page, commands) in pages {
        let script = stage.script(page, &commands)?;
        stage
            .run(page, &script)
            .await
            .with_context(|| page.to_owned())?;
    }
    stage.end()
}
