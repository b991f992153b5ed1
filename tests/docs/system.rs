//! docs/system.md: what ingress-nginx does as a whole, row by row, and the tests that prove each row here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sluice_tests::artifacts;

const ROWS: &str = "tests/docs/system.toml";
const BENCHMARKS: &str = "docs/benchmarks.md";

const HEAD: &str = "\
# The system

<!-- Written by `cargo xtask docs` from tests/docs/system.toml. -->

What there is to ingress-nginx beside annotations, settings and flags, in 103 rows from walks through its source, and the tests that
prove each row for Sluice; times are measured. A row that is not whole says what is open.
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: usize,
    requirement: String,
    /// `path::function`, or `path::case id`.
    tests: Vec<String>,
    /// Rows of docs/benchmarks.md: times are measured there, and asserted by no test.
    #[serde(default)]
    measured: Vec<String>,
    /// Part that is missing.
    open: Option<String>,
}

/// The page. Each test that it names exists.
pub(crate) fn page() -> Result<String> {
    let text = fs::read_to_string(artifacts::repository().join(ROWS)).context(ROWS)?;
    let file: File = toml::from_str(&text).context(ROWS)?;
    let benchmarks = fs::read_to_string(artifacts::repository().join(BENCHMARKS))?;
    let mut files = BTreeMap::new();
    let rows = || file.section.iter().flat_map(|section| &section.row);
    let whole = rows().filter(|row| row.open.is_none()).count();
    let mut page = HEAD.to_owned();
    writeln!(page, "\n{whole} of {} rows are whole.", rows().count())?;
    for Section { title, row } in &file.section {
        write!(
            page,
            "\n## {title}\n\n| | must work | tests | open |\n|---|---|---|---|\n"
        )?;
        for (position, row) in row.iter().enumerate() {
            ensure!(row.number == position + 1, "{title}: row {}", row.number);
            let is_accounted = row.open.is_some() || !row.tests.is_empty();
            ensure!(
                is_accounted,
                "{title}: row {} has neither tests nor open",
                row.number
            );
            let tests = row.tests.iter().map(|test| named(test, &mut files));
            let measured = row.measured.iter().map(|name| measured(name, &benchmarks));
            let named: Vec<_> = tests.chain(measured).collect::<Result<_>>()?;
            let open = row.open.as_deref().unwrap_or_default();
            writeln!(
                page,
                "| {} | {} | {} | {open} |",
                row.number,
                row.requirement,
                named.join("<br>")
            )?;
        }
    }
    Ok(page)
}

/// A test as it is written on the page.
fn named(test: &str, files: &mut BTreeMap<String, String>) -> Result<String> {
    let (path, name) = test.split_once("::").with_context(|| test.to_owned())?;
    let text = match files.get(path) {
        Some(text) => text,
        None => {
            let text = fs::read_to_string(artifacts::repository().join(path))
                .with_context(|| test.to_owned())?;
            files.entry(path.to_owned()).or_insert(text)
        }
    };
    let marks = [format!("fn {name}("), format!("\"id\": \"{name}\"")];
    let exists = marks.iter().any(|mark| text.contains(mark));
    ensure!(exists, "{ROWS}: {test} does not exist");
    Ok(format!("`{name}` ({path})"))
}

/// A measurement that meets its target.
fn measured(name: &str, benchmarks: &str) -> Result<String> {
    let row = format!("| `{name}` |");
    let row = benchmarks.lines().find(|line| line.starts_with(&row));
    let row = row.with_context(|| format!("{ROWS}: {BENCHMARKS} has no {name}"))?;
    ensure!(row.ends_with("| yes |"), "{ROWS}: {name} misses its target");
    Ok(format!("`{name}` ({BENCHMARKS})"))
}
