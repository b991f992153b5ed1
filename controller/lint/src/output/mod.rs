//! Findings as people and programs read them.

mod github;
mod json;
mod markdown;
mod paint;
mod sarif;
mod summary;
mod table;

use sluice_source::Location;
use sluice_syntax::printable;

use self::paint::Paint;
use crate::{Findings, Output};

/// Writes findings; `colours`: in a table, for a terminal.
#[must_use]
pub fn write(findings: &Findings, output: Output, colours: bool) -> String {
    match output {
        Output::Table => table::table(findings, Paint { colours }),
        Output::Json => json::text(findings),
        Output::Markdown => markdown::markdown(findings),
        Output::Sarif => sarif::sarif(findings),
        Output::Github => github::commands(findings),
    }
}

impl Findings {
    /// All verdicts in one line.
    #[must_use]
    pub fn sum(&self) -> String {
        summary::sentence(&self.summary())
    }
}

/// `shop.yaml:9`.
fn place(location: &Location) -> String {
    format!("{}:{}", printable(&location.file), location.line)
}
