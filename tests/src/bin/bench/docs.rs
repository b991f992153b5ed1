//! The tables in docs/benchmarks.md, each between two markers; what stands around them is written by hand.

use std::fs;

use anyhow::{Context, Result};
use sluice_tests::artifacts;

use crate::machine::Machine;
use crate::results::Results;
use crate::row::Measured;
use crate::{peers, registry, table};

/// All rows but those of the peers.
const ROWS: Place = Place {
    begin: "<!-- bench:begin -->",
    end: "<!-- bench:end -->",
};
const PEERS: Place = Place {
    begin: "<!-- peers:begin -->",
    end: "<!-- peers:end -->",
};

/// A pair of markers.
struct Place {
    begin: &'static str,
    end: &'static str,
}

/// Writes these results into the tables; rows that there are no results of stay. `names` are those of the command line, `new` the rows
/// that it has measured.
pub(crate) fn write(
    results: &Results,
    machine: &Machine,
    names: &[String],
    new: &[Measured],
) -> Result<()> {
    let path = artifacts::repository().join("docs/benchmarks.md");
    let (of_peers, new): (Vec<&Measured>, Vec<&Measured>) =
        new.iter().partition(|row| is_of_peers(&row.name));
    let write = || -> Result<()> {
        let mut page = fs::read_to_string(&path)?;
        let caption = caption(machine, names);
        if !new.is_empty() {
            let mut names = registry::names();
            names.retain(|name| !is_of_peers(name));
            let rows = merged(ROWS.of(&page)?.1, results.rows(), &names);
            let table = format!("{caption}\n\n{}{rows}", table::head());
            page = ROWS.replaced(&page, &table)?;
        }
        if !of_peers.is_empty() {
            let tables = peers::tables(results.rows());
            page = PEERS.replaced(&page, &format!("{caption}\n{tables}"))?;
        }
        Ok(fs::write(&path, page)?)
    };
    write().with_context(|| path.display().to_string())
}

fn is_of_peers(name: &str) -> bool {
    name.starts_with(peers::PREFIX)
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

impl Place {
    fn replaced(&self, page: &str, table: &str) -> Result<String> {
        let (before, _, after) = self.of(page)?;
        Ok(format!(
            "{before}{}\n{table}{}{after}",
            self.begin, self.end
        ))
    }

    /// A page before, between and behind the markers.
    fn of<'p>(&self, page: &'p str) -> Result<(&'p str, &'p str, &'p str)> {
        let (before, rest) = page
            .split_once(self.begin)
            .with_context(|| format!("there is no {}", self.begin))?;
        let (table, after) = rest
            .split_once(self.end)
            .with_context(|| format!("there is no {} behind {}", self.end, self.begin))?;
        Ok((before, table, after))
    }
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
        let (begin, end) = (ROWS.begin, ROWS.end);
        let page = format!("above\n{begin}\nold\n{end}\nbelow\n");
        let once = ROWS.replaced(&page, "new\n").unwrap();
        assert_eq!(once, format!("above\n{begin}\nnew\n{end}\nbelow\n"));
        assert_eq!(ROWS.replaced(&once, "new\n").unwrap(), once);
        assert!(
            ROWS.replaced("no markers", "new\n")
                .unwrap_err()
                .to_string()
                .contains(begin)
        );
    }
}
