//! Findings as people and programs read them.

use std::fmt::Write;

use serde_json::json;

use super::finding::{Finding, Findings, Summary, Verdict};
use crate::Output;

/// Writes findings.
#[must_use]
pub fn write(findings: &Findings, output: Output) -> String {
    match output {
        Output::Table => table(findings),
        Output::Json => json_text(findings),
        Output::Markdown => markdown(findings),
    }
}

/// An Ingress a line, its remarks below it, the sum at the end.
fn table(findings: &Findings) -> String {
    let mut text = String::new();
    let width = findings
        .ingresses
        .iter()
        .map(|finding| name(finding).chars().count())
        .max()
        .unwrap_or_default();
    for finding in &findings.ingresses {
        writeln!(
            text,
            "{:width$}  {}",
            name(finding),
            finding.verdict.words()
        )
        .ok();
        for remark in &finding.remarks {
            writeln!(
                text,
                "  {:8} {}: {}",
                remark.severity.to_string(),
                remark.field,
                remark.text
            )
            .ok();
        }
    }
    for problem in &findings.documents {
        let severity = if problem.harmless { "note" } else { "error" };
        writeln!(text, "{severity}: {problem}").ok();
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &sentence(&findings.summary()) + "\n"
}

fn json_text(findings: &Findings) -> String {
    let value = json!({
        "summary": findings.summary(),
        "ingresses": findings.ingresses,
        "documents": findings.documents,
    });
    format!("{value:#}\n")
}

fn markdown(findings: &Findings) -> String {
    let mut text = format!("# Sluice lint\n\n{}\n", sentence(&findings.summary()));
    if !findings.ingresses.is_empty() {
        text += "\n| Ingress | verdict | remarks |\n|---|---|---|\n";
    }
    for finding in &findings.ingresses {
        let remarks: Vec<String> = finding
            .remarks
            .iter()
            .map(|remark| {
                cell(&format!(
                    "{}: {}: {}",
                    remark.severity, remark.field, remark.text
                ))
            })
            .collect();
        writeln!(
            text,
            "| {} | {} | {} |",
            name(finding),
            finding.verdict.words(),
            remarks.join("<br>")
        )
        .ok();
    }
    if !findings.documents.is_empty() {
        text += "\n| document | |\n|---|---|\n";
    }
    for problem in &findings.documents {
        writeln!(
            text,
            "| {} | {} |",
            cell(&problem.place),
            cell(&problem.reason)
        )
        .ok();
    }
    text
}

/// Escapes characters that end a cell or are markup.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace(['\n', '\r'], " ")
}

fn name(finding: &Finding) -> String {
    finding.ingress.to_string()
}

fn sentence(summary: &Summary) -> String {
    let Summary {
        unchanged,
        differences,
        not_at_all,
        other_class,
        unreadable,
    } = *summary;
    let total = unchanged + differences + not_at_all + other_class;
    let plural = if total == 1 { "" } else { "es" };
    let parts = [
        (unchanged, Verdict::Unchanged),
        (differences, Verdict::Differences),
        (not_at_all, Verdict::NotAtAll),
        (other_class, Verdict::OtherClass),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", verdict.words_of(*count)))
        .collect();
    let list = if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    };
    let lost = if unreadable > 0 {
        format!("; {unreadable} unreadable")
    } else {
        String::new()
    };
    format!("{total} Ingress{plural}{list}{lost}")
}
