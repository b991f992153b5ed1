//! The chart's README: each value, its default and its meaning, from `values.yaml` and its schema.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;

use crate::chart::{folder, read_yaml};
use crate::values::{all_leaves, property, schema};

const BEGIN: &str = "<!-- Values: UPDATE_GOLDEN=1 writes them. -->\n";

fn table() -> Result<String> {
    let schema = schema()?;
    let mut table = "\n| value | default | meaning |\n|---|---|---|\n".to_owned();
    for (path, value) in all_leaves()? {
        let property = property(&schema, &path).context(path.clone())?;
        let meaning = property["description"].as_str().context(path.clone())?;
        let name = path.trim_start_matches('/').replace('/', ".");
        let default = value.to_string().replace('|', "\\|");
        writeln!(
            table,
            "| `{name}` | `{default}` | {} |",
            meaning.replace('|', "\\|")
        )?;
    }
    Ok(table)
}

#[test]
fn readme_of_the_chart_lists_every_value() -> Result<()> {
    let path = folder().join("README.md");
    let page = fs::read_to_string(&path)?;
    let (head, found) = page.split_once(BEGIN).context("no table")?;
    let expected = table()?;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{expected}"))?;
        return Ok(());
    }
    assert_eq!(found, expected, "UPDATE_GOLDEN=1 writes the table");
    Ok(())
}

#[test]
fn chart_says_where_it_is_from() -> Result<()> {
    let chart = read_yaml(&folder().join("Chart.yaml"))?;
    for field in ["home", "icon", "description"] {
        ensure!(chart[field].is_string(), "no {field}");
    }
    ensure!(
        chart["version"] == env!("CARGO_PKG_VERSION"),
        "{}",
        chart["version"]
    );
    ensure!(
        chart["appVersion"] == chart["version"],
        "{}",
        chart["appVersion"]
    );
    Ok(())
}
