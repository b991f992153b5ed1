//! Workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

use std::fmt::Write;

use sluice_source::Location;
use sluice_translate::Severity;

use super::summary::sentence;
use crate::finding::{Findings, severity};
use crate::results::results;

pub(super) fn commands(findings: &Findings) -> String {
    let mut text = String::new();
    for result in results(findings) {
        let command = level(result.remark.severity);
        let mut properties = vec![format!("title={}", property(&result.object))];
        if let Some(Location { file, line }) = &result.remark.location {
            properties.insert(0, format!("line={line}"));
            properties.insert(0, format!("file={}", property(file)));
        }
        let message = format!("{}: {}", result.remark.field, result.remark.text);
        let properties = properties.join(",");
        writeln!(text, "::{command} {properties}::{}", data(&message)).ok();
    }
    for problem in &findings.documents {
        let command = level(severity(problem));
        let line = problem.line.map(|line| format!(",line={line}"));
        let line = line.unwrap_or_default();
        let file = property(&problem.place);
        writeln!(
            text,
            "::{command} file={file}{line}::{}",
            data(&problem.reason)
        )
        .ok();
    }
    text + &sentence(&findings.summary()) + "\n"
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// A message in one line, in which no other command begins.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
