//! For a ticket.

use std::fmt::Write;

use super::place;
use super::summary::sentence;
use super::table::words;
use crate::finding::{Findings, severity};
use crate::remark::Remark;

pub(super) fn markdown(findings: &Findings) -> String {
    let mut text = format!("# Sluice lint\n\n{}\n", sentence(&findings.summary()));
    if !findings.settings.is_empty() {
        text += "\n| object | place | remarks |\n|---|---|---|\n";
    }
    for finding in &findings.settings {
        let object = cell(&finding.object.to_string());
        let at = cell(&finding.location.as_ref().map(place).unwrap_or_default());
        writeln!(text, "| {object} | {at} | {} |", cells(&finding.remarks)).ok();
    }
    if !findings.ingresses.is_empty() {
        text += "\n| Ingress | place | verdict | remarks |\n|---|---|---|---|\n";
    }
    for finding in &findings.ingresses {
        let at = cell(&finding.location.as_ref().map(place).unwrap_or_default());
        let (name, words) = (&finding.ingress, words(finding));
        let remarks = cells(&finding.remarks);
        writeln!(text, "| {name} | {at} | {words} | {remarks} |").ok();
    }
    if !findings.documents.is_empty() {
        text += "\n| document | | |\n|---|---|---|\n";
    }
    for problem in &findings.documents {
        let line = problem.line.map(|line| format!(":{line}"));
        let at = cell(&format!("{}{}", problem.place, line.unwrap_or_default()));
        let (severity, reason) = (severity(problem), cell(&problem.reason));
        writeln!(text, "| {at} | {severity} | {reason} |").ok();
    }
    text
}

fn cells(remarks: &[Remark]) -> String {
    let remarks = remarks.iter().map(|remark| {
        let Remark {
            severity,
            field,
            text,
            location,
            ..
        } = remark;
        let line = location.as_ref().map(|at| format!(" (line {})", at.line));
        let line = line.unwrap_or_default();
        cell(&format!("{severity}: {field}{line}: {text}"))
    });
    remarks.collect::<Vec<_>>().join("<br>")
}

/// Escapes characters that end a cell or are markup.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
}
