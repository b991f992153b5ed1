//! Findings as people and programs read them.

use std::fmt::Write;

use serde_json::json;

use super::finding::{Finding, Findings, Summary, Verdict};
use super::remark::Remark;
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
    for finding in &findings.settings {
        writeln!(text, "{}", finding.object).ok();
        lines(&finding.remarks, &mut text);
    }
    for finding in &findings.ingresses {
        writeln!(
            text,
            "{:width$}  {}",
            name(finding),
            finding.verdict.words()
        )
        .ok();
        lines(&finding.remarks, &mut text);
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

fn lines(remarks: &[Remark], text: &mut String) {
    for remark in remarks {
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

fn json_text(findings: &Findings) -> String {
    let value = json!({
        "summary": findings.summary(),
        "settings": findings.settings,
        "ingresses": findings.ingresses,
        "documents": findings.documents,
    });
    format!("{value:#}\n")
}

fn markdown(findings: &Findings) -> String {
    let mut text = format!("# Sluice lint\n\n{}\n", sentence(&findings.summary()));
    if !findings.settings.is_empty() {
        text += "\n| object | remarks |\n|---|---|\n";
    }
    for finding in &findings.settings {
        writeln!(
            text,
            "| {} | {} |",
            cell(&finding.object),
            cells(&finding.remarks)
        )
        .ok();
    }
    if !findings.ingresses.is_empty() {
        text += "\n| Ingress | verdict | remarks |\n|---|---|---|\n";
    }
    for finding in &findings.ingresses {
        writeln!(
            text,
            "| {} | {} | {} |",
            name(finding),
            finding.verdict.words(),
            cells(&finding.remarks)
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

fn cells(remarks: &[Remark]) -> String {
    let remarks = remarks.iter().map(|remark| {
        let Remark {
            severity,
            field,
            text,
            ..
        } = remark;
        cell(&format!("{severity}: {field}: {text}"))
    });
    remarks.collect::<Vec<_>>().join("<br>")
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
        not_watched,
        settings,
        unreadable,
    } = *summary;
    let total = unchanged + differences + not_at_all + other_class + not_watched;
    let plural = if total == 1 { "" } else { "es" };
    let parts = [
        (unchanged, Verdict::Unchanged),
        (differences, Verdict::Differences),
        (not_at_all, Verdict::NotAtAll),
        (other_class, Verdict::OtherClass),
        (not_watched, Verdict::NotWatched),
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
    let beside = match settings {
        0 => String::new(),
        _ => format!(
            "; errors in {settings} other object{}",
            if settings == 1 { "" } else { "s" }
        ),
    };
    let lost = if unreadable > 0 {
        format!("; {unreadable} unreadable")
    } else {
        String::new()
    };
    format!("{total} Ingress{plural}{list}{beside}{lost}")
}
