//! `cargo xtask cases FILE`: plays a file of acceptance cases and says what came of each.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use sluice_tests::artifacts;
use sluice_tests::cases::expected::Reasons;
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Selection};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "cases FILE [--only ID]... [--area AREA]... [--data-plane envoy|nginx] [--flag FLAG]... \
    [--jobs N] [--update-expected PATH]";

struct Args {
    file: PathBuf,
    selection: Selection,
    /// The list of expected failures that is written anew.
    list: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // There is nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns `true` if nothing failed.
async fn run() -> Result<bool> {
    let Args {
        file,
        selection,
        list,
    } = parse(std::env::args().skip(1))?;
    let file = CaseFile::read(&file)?;
    if selection.data_plane == "nginx" {
        say(&format!("nginx with {}", artifacts::nginx_host()));
    }
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let summary = tokio::select! {
        summary = cases::play(&file, &selection, |played| say(&played.to_string())) => summary?,
        // What was started ends when the future is dropped.
        _ = interrupt.recv() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    };
    say(&format!("\n{summary}"));
    if let Some(list) = list {
        let before = std::fs::read_to_string(&list).unwrap_or_default();
        let updated = Reasons::parse(&before)?.updated(&summary);
        std::fs::write(&list, updated).with_context(|| list.display().to_string())?;
    }
    Ok(summary.failed() == 0)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Args> {
    let (mut file, mut list, mut selection) = (None, None, Selection::default());
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} needs a value\n{USAGE}"))
        };
        match argument.as_str() {
            "--only" => selection
                .only
                .extend(value()?.split(',').map(str::to_owned)),
            "--area" => selection
                .areas
                .extend(value()?.split(',').map(str::to_owned)),
            "--data-plane" => selection.data_plane = value()?,
            "--flag" => selection.flags.push(value()?),
            "--jobs" => selection.jobs = value()?.parse().context("--jobs")?,
            "--update-expected" => list = Some(PathBuf::from(value()?)),
            path if !path.starts_with('-') && file.is_none() => file = Some(PathBuf::from(path)),
            other => bail!("unexpected {other:?}\n{USAGE}"),
        }
    }
    let file = file.with_context(|| format!("which file?\n{USAGE}"))?;
    Ok(Args {
        file,
        selection,
        list,
    })
}

fn say(text: &str) {
    // There is nobody to tell when stdout is gone.
    let _ = writeln!(io::stdout(), "{text}");
}
