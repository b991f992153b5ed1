//! Findings as people and programs read them.

mod html;
mod markdown;
mod paint;
mod sentence;
mod table;

use clap::ValueEnum;
use serde_json::json;

use crate::findings::Findings;
use paint::Paint;

/// Format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Table for a terminal.
    #[default]
    Table,
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
    /// Self-contained HTML page.
    Html,
}

/// Writes findings; `colours`: in a table, for a terminal.
#[must_use]
pub fn write(findings: &Findings, output: Output, colours: bool) -> String {
    match output {
        Output::Table => table::table(findings, Paint { colours }),
        Output::Json => json(findings),
        Output::Markdown => markdown::markdown(findings),
        Output::Html => html::html(findings),
    }
}

fn json(findings: &Findings) -> String {
    let mut value = json!(findings);
    value["summary"] = json!(findings.summary());
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests;
