//! docs/flags.md: the help of each command.

use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts;

const HEAD: &str = "\
# Flags

<!-- Written by `cargo xtask docs`. -->

What `sluice COMMAND --help` prints; `-h` is a line for each flag. Flags that ingress-nginx has keep their names and meanings, and take
`=true` and `=false` as there. A flag of it that Sluice does not have is refused, with what to do instead.
Subcommands of `dbg`, `kubectl` and `certgen` have flags of their own: `sluice COMMAND SUBCOMMAND --help` prints them.
";

const COMMANDS: [&str; 14] = [
    "run",
    "lint",
    "check",
    "explain",
    "compare",
    "values",
    "render",
    "envoy",
    "bootstrap",
    "dbg",
    "kubectl",
    "wait-shutdown",
    "certgen",
    "completions",
];

pub(super) fn page() -> Result<String> {
    let mut page = HEAD.to_owned();
    for command in COMMANDS {
        let help = help(&[command, "--help"])?;
        // A page has no trailing spaces.
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(
            page,
            "\n## sluice {command}\n\n```text\n{}\n```\n",
            lines.join("\n").trim_end()
        )?;
    }
    Ok(page)
}

/// Without an environment, whose values it would show.
pub(super) fn help(arguments: &[&str]) -> Result<String> {
    let output = Command::new(artifacts::sluice()?)
        .env_clear()
        .args(arguments)
        .output()
        .context("sluice")?;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// A new command has a section.
pub(super) fn every_command_is_there() -> Result<()> {
    let help = help(&["--help"])?;
    let (_, commands) = help.split_once("Commands:\n").context("no commands")?;
    let names = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        ensure!(
            COMMANDS.contains(&name),
            "docs/flags.md has no `sluice {name}`"
        );
    }
    Ok(())
}
