//! Draws how each algorithm spreads requests, into `docs/pictures/`.
//!
//! From real runs: the controller, the filter as it is shipped, an Envoy and pods that answer. No number is made up, so two
//! runs differ a little.

mod chart;
mod runs;
mod site;

use std::fs;
use std::process::ExitCode;

use anyhow::Result;
use sluice_tests::artifacts::repository;

#[tokio::main]
async fn main() -> ExitCode {
    match draw().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn draw() -> Result<()> {
    let folder = repository().join("docs/pictures");
    fs::create_dir_all(&folder)?;
    for (name, picture) in [
        ("spread.svg", chart::spread(&runs::spread().await?)?),
        ("scale-up.svg", chart::scale_up(&runs::scale_up().await?)?),
        (
            "slow-start.svg",
            chart::slow_start(&runs::slow_start().await?)?,
        ),
    ] {
        let path = folder.join(name);
        fs::write(&path, picture)?;
        say(&path.display().to_string());
    }
    Ok(())
}

#[allow(clippy::print_stderr, reason = "this is its output")]
fn say(text: &str) {
    eprintln!("{text}");
}
