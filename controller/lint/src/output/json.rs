//! For programs.

use serde_json::{Value, json};
use sluice_source::Problem;

use crate::Extent;
use crate::finding::{Findings, severity};

pub(super) fn text(findings: &Findings) -> String {
    let documents = findings.documents.iter();
    let documents: Vec<Value> = documents
        .map(|problem| document(problem, findings.extent))
        .collect();
    let value = json!({
        "summary": findings.summary(),
        "settings": findings.settings,
        "ingresses": findings.ingresses,
        "documents": documents,
    });
    format!("{value:#}\n")
}

fn document(problem: &Problem, extent: Extent) -> Value {
    let place = match extent {
        Extent::Part => "file",
        Extent::Whole => "object",
    };
    let mut value = json!({
        place: problem.place,
        "severity": severity(problem),
        "reason": problem.reason,
    });
    if let Some(line) = problem.line {
        value["line"] = line.into();
    }
    value
}
