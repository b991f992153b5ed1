//! Results so far: `target/bench/results.json`, a list of rows.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use sluice_tests::artifacts;

use crate::registry;
use crate::row::Measured;

/// Rows in the order of the registry, each name once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Results(Vec<Measured>);

impl Results {
    /// Reads the file; empty if there is none.
    pub(crate) fn of_file() -> Result<Results> {
        let path = path();
        if !path.exists() {
            return Ok(Results::default());
        }
        let read = || Results::parse(&fs::read_to_string(&path)?);
        read().with_context(|| format!("{} (remove it to start anew)", path.display()))
    }

    /// Replaces the rows of the same names and keeps the others.
    pub(crate) fn merge_into_file(rows: &[Measured]) -> Result<()> {
        let (path, mut results) = (path(), Results::of_file()?);
        results.merge(rows, &registry::names());
        let write = || -> Result<()> {
            fs::create_dir_all(path.parent().context("the root folder")?)?;
            Ok(fs::write(&path, results.to_json()?)?)
        };
        write().with_context(|| format!("write {}", path.display()))
    }

    pub(crate) fn rows(&self) -> &[Measured] {
        &self.0
    }

    /// A row that `names` do not know is of another version of this program and goes.
    fn merge(&mut self, rows: &[Measured], names: &[String]) {
        self.0
            .retain(|known| rows.iter().all(|row| row.name != known.name));
        self.0.extend(rows.iter().cloned());
        self.0.retain(|row| names.contains(&row.name));
        self.0
            .sort_by_key(|row| names.iter().position(|name| *name == row.name));
    }

    fn parse(text: &str) -> Result<Results> {
        let rows: Vec<Value> = serde_json::from_str(text)?;
        rows.iter()
            .map(Measured::from_json)
            .collect::<Result<_>>()
            .map(Results)
    }

    fn to_json(&self) -> Result<String> {
        let rows: Vec<Value> = self.0.iter().map(Measured::to_json).collect();
        Ok(serde_json::to_string_pretty(&rows)? + "\n")
    }
}

fn path() -> PathBuf {
    artifacts::target().join("bench/results.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn row(name: &str, value: f64) -> Measured {
        Row::new(name, "ms").measured(value, 1)
    }

    #[test]
    fn a_merge_replaces_keeps_sorts_and_forgets_what_is_not_known() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut results = Results(vec![row("gone", 0.0), row("a", 1.0), row("c", 3.0)]);
        results.merge(&[row("b", 2.0), row("a", 9.0)], &names);
        assert_eq!(
            results.rows(),
            [row("a", 9.0), row("b", 2.0), row("c", 3.0)]
        );
        assert_eq!(
            Results::parse(&results.to_json().unwrap()).unwrap(),
            results
        );
    }
}
