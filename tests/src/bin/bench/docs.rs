//! The table in docs/benchmarks.md, between two markers; what stands around it is written by hand.

use std::fs;

use anyhow::{Context, Result};
use sluice_tests::artifacts;

use crate::machine::Machine;
use crate::results::Results;
use crate::table;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// Replaces the table by these results. `names` are those of the command line.
pub(crate) fn write(results: &Results, machine: &Machine, names: &[String]) -> Result<()> {
    let path = artifacts::repository().join("docs/benchmarks.md");
    let write = || -> Result<()> {
        let page = fs::read_to_string(&path)?;
        let table = format!(
            "{}\n\n{}",
            caption(machine, names),
            table::markdown(results.rows())
        );
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

fn replaced(page: &str, table: &str) -> Result<String> {
    let (before, rest) = page
        .split_once(BEGIN)
        .with_context(|| format!("there is no {BEGIN}"))?;
    let (_, after) = rest
        .split_once(END)
        .with_context(|| format!("there is no {END} behind {BEGIN}"))?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
