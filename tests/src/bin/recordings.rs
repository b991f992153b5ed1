//! `cargo xtask recordings FILE`: plays what ingress-nginx answered, and says what differs. With `--write`, what Sluice answered is
//! written to target/recordings, in the format of the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use sluice_tests::artifacts;
use sluice_tests::cases::Selection;
use sluice_tests::recordings::file::Recording;
use sluice_tests::recordings::rules::Rules;
use sluice_tests::recordings::{Difference, Played, play};

const USAGE: &str = "recordings FILE [--only ID]... [--data-plane envoy|nginx] [--flag FLAG]... [--jobs N] [--write]";

#[tokio::main]
async fn main() -> Result<()> {
    let (file, selection, writes) = parse(std::env::args().skip(1))?;
    let rules = Rules::read(&artifacts::repository().join("tests/recordings/accepted.toml"))?;
    let all = play(&Recording::read(&file)?, &selection).await?;
    let mut report = report(&all, &rules, &selection.data_plane)?;
    if writes {
        let name = file.file_name().context("not a file")?;
        let written = artifacts::repository()
            .join("target/recordings")
            .join(&selection.data_plane)
            .join(name);
        fs::create_dir_all(written.parent().context("no folder")?)?;
        fs::write(
            &written,
            Recording::with_answers(&file, &selection.data_plane, &all)?,
        )?;
        writeln!(report, "wrote {}", written.display())?;
    }
    // A pipe that is closed has nobody to tell.
    io::stdout().write_all(report.as_bytes()).ok();
    Ok(())
}

/// The differences that no rule explains: by request, then by field.
fn report(all: &[Played], rules: &Rules, data_plane: &str) -> Result<String> {
    let mut report = String::new();
    let mut fields: BTreeMap<&str, usize> = BTreeMap::new();
    let mut different = 0;
    for played in all {
        let is_unexplained =
            |difference: &&Difference| rules.explain(data_plane, played, difference).is_none();
        let unexplained: Vec<&Difference> =
            played.differences.iter().filter(is_unexplained).collect();
        if unexplained.is_empty() {
            continue;
        }
        different += 1;
        writeln!(
            report,
            "{} #{} {}",
            played.id, played.number, played.request
        )?;
        for difference in unexplained {
            writeln!(report, "    {difference}")?;
            *fields.entry(&difference.field).or_default() += 1;
        }
    }
    let mut fields: Vec<(&str, usize)> = fields.into_iter().collect();
    fields.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    writeln!(report)?;
    for (field, count) in fields {
        writeln!(report, "{count:>6}  {field}")?;
    }
    let (same, all) = (all.len() - different, all.len());
    writeln!(
        report,
        "\n{same} of {all} answers are as recorded, or differ on purpose"
    )?;
    Ok(report)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<(PathBuf, Selection, bool)> {
    let (mut file, mut selection) = (
        None,
        Selection {
            jobs: 4,
            ..Selection::default()
        },
    );
    let mut writes = false;
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
            "--data-plane" => selection.data_plane = value()?,
            "--flag" => selection.flags.push(value()?),
            "--write" => writes = true,
            "--jobs" => selection.jobs = value()?.parse().context("--jobs")?,
            path if !path.starts_with('-') && file.is_none() => file = Some(PathBuf::from(path)),
            other => bail!("unexpected {other:?}\n{USAGE}"),
        }
    }
    Ok((
        file.with_context(|| format!("which file?\n{USAGE}"))?,
        selection,
        writes,
    ))
}
