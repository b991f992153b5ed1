//! The table in docs/benchmarks.md, between two markers; what stands around it is written by hand.

use std::fs;

use anyhow::{Context, Result};
use sluice_tests::artifacts;

use crate::machine::Machine;
use crate::results::Results;
use crate::row::Measured;
use crate::{registry, table};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Writes these results into the table; rows of it that there are no results of stay. `names` are those of the command line.
pub(crate) fn write(results: &Results, machine: &Machine, names: &[String]) -> Result<()> {
    let path = artifacts::repository().join("docs/benchmarks.md");
    let write = || -> Result<()> {
        let page = fs::read_to_string(&path)?;
        let rows = merged(between(&page)?.1, results.rows(), &registry::names());
        let table = format!("{}\n\n{}{rows}", caption(machine, names), table::head());
        Ok(fs::write(&path, replaced(&page, &table)?)?)
    };
    write().with_context(|| path.display().to_string())
}

fn caption(machine: &Machine, names: &[String]) -> String {
    let command = ["cargo xtask bench"]
        .into_iter()
        .chain(names.iter().map(String::as_str));
    let command = format!("{} --write", command.collect::<Vec<_>>().join(" "));
    let earlier = if names.is_empty() {
        ""
    } else {
        " Rows that it does not name are of earlier runs."
    };
    format!("{machine}. Command: `{command}`.{earlier}")
}

/// The rows, each of these names once: as measured, or else as they stand in the table. Another machine has measured those.
fn merged(table: &str, measured: &[Measured], names: &[String]) -> String {
    let lines = names.iter().filter_map(|name| {
        let measured = measured.iter().find(|row| row.name == *name);
        measured.map(table::line).or_else(|| {
            let begin = format!("| `{name}` |");
            let known = table.lines().find(|line| line.starts_with(&begin))?;
            Some(format!("{known}\n"))
        })
    });
    lines.collect()
}

fn replaced(page: &str, table: &str) -> Result<String> {
    let (before, _, after) = between(page)?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// A page before, between and behind the markers.
fn between(page: &str) -> Result<(&str, &str, &str)> {
    let (before, rest) = page
        .split_once(BEGIN)
        .with_context(|| format!("there is no {BEGIN}"))?;
    let (table, after) = rest
        .split_once(END)
        .with_context(|| format!("there is no {END} behind {BEGIN}"))?;
    Ok((before, table, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    #[test]
    fn rows_that_were_not_measured_stay_and_those_of_no_name_go() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let table =
            "| `c` | 3.00 | ms | 1 |  |  |\n| `gone` | 1 |\n| `a` | 1.00 | ms | 1 |  |  |\n";
        let measured = [Row::new("a", "ms").measured(9.0, 1)];
        let expected = "| `a` | 9.00 | ms | 1 |  |  |\n| `c` | 3.00 | ms | 1 |  |  |\n";
        assert_eq!(merged(table, &measured, &names), expected);
    }

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let page = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let once = replaced(&page, "new\n").unwrap();
        assert_eq!(once, format!("above\n{BEGIN}\nnew\n{END}\nbelow\n"));
        assert_eq!(replaced(&once, "new\n").unwrap(), once);
        assert!(
            replaced("no markers", "new\n")
                .unwrap_err()
                .to_string()
                .contains(BEGIN)
        );
    }
}
