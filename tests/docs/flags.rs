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
        write_sections(&mut page, &[command])?;
    }
    Ok(page)
}

/// Of a command, and of the commands below it.
fn write_sections(page: &mut String, command: &[&str]) -> Result<()> {
    let help = help(&[command, &["--help"]].concat())?;
    // A page has no trailing spaces.
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(
        page,
        "\n{} sluice {}\n\n```text\n{}\n```\n",
        "#".repeat(command.len() + 1),
        command.join(" "),
        lines.join("\n").trim_end()
    )?;
    // kubectl's plugin has some of ours, too.
    let is_ours = |name: &&str| command == ["kubectl"] && COMMANDS.contains(name);
    let own = listed_commands(&help).filter(|name| !is_ours(name));
    for name in own {
        write_sections(page, &[command, &[name]].concat())?;
    }
    Ok(())
}

/// Those that a help lists.
pub(super) fn listed_commands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help
        .split_once("\nCommands:\n")
        .map_or("", |(_, listed)| listed);
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
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
    ensure!(listed_commands(&help).next().is_some(), "no commands");
    for name in listed_commands(&help) {
        ensure!(
            COMMANDS.contains(&name),
            "docs/flags.md has no `sluice {name}`"
        );
    }
    Ok(())
}
