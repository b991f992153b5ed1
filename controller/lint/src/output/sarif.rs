//! SARIF 2.1.0, for code scanning: a rule for each reason code, a result for each remark.
//!
//! Specification: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use serde_json::{Value, json};
use sluice_ir::ReasonCode;
use sluice_source::{Location, Problem};
use sluice_translate::Severity;

use crate::finding::{Findings, severity};
use crate::results::results;
use crate::{Extent, remark::Remark};

/// The page of all rules: each has a heading of its own there.
const PAGE: &str = "https://sluice.dev/reports.html";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Of remarks without a reason code.
const HINT: (&str, &str) = ("Hint", "a valid setting that is often not intended");
/// Of what is no object.
const DOCUMENT: (&str, &str) = (
    "Document",
    "a document of a manifest is not read as written",
);

pub(super) fn sarif(findings: &Findings) -> String {
    let rules = rules();
    let of_objects = results(findings)
        .into_iter()
        .map(|result| of_remark(&result.object, result.remark, &rules));
    let of_documents = findings
        .documents
        .iter()
        .map(|problem| of_problem(problem, findings.extent, &rules));
    let results: Vec<Value> = of_objects.chain(of_documents).collect();
    let described: Vec<Value> = rules.iter().map(|rule| described(*rule)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "sluice lint",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": described,
            }},
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

type Rule = (&'static str, &'static str);

fn rules() -> Vec<Rule> {
    let codes = ReasonCode::ALL.iter();
    let codes = codes.map(|code| (code.as_str(), code.meaning()));
    codes.chain([HINT, DOCUMENT]).collect()
}

fn described((id, meaning): Rule) -> Value {
    let uri = help_uri(id);
    let help = format!("{id}: {meaning}. {uri} says what to do.");
    let markdown = format!("`{id}`: {meaning}. [What to do]({uri})");
    json!({
        "id": id,
        "name": id,
        "shortDescription": {"text": meaning},
        "helpUri": uri,
        "help": {"text": help, "markdown": markdown},
    })
}

fn help_uri(id: &str) -> String {
    format!("{PAGE}#{}", id.to_ascii_lowercase())
}

fn of_remark(object: &str, remark: &Remark, rules: &[Rule]) -> Value {
    let id = remark.code.map_or(HINT.0, ReasonCode::as_str);
    let message = format!("{object}: {}: {}", remark.field, remark.text);
    let location = remark.location.as_ref();
    let mut place = json!({"logicalLocations": [{"fullyQualifiedName": object, "kind": "object"}]});
    if let Some(Location { file, line }) = location {
        place["physicalLocation"] = physical(file, Some(*line));
    }
    result(id, remark.severity, &message, &place, rules)
}

fn of_problem(problem: &Problem, extent: Extent, rules: &[Rule]) -> Value {
    let place = match extent {
        Extent::Part => json!({"physicalLocation": physical(&problem.place, problem.line)}),
        Extent::Whole => json!({"logicalLocations": [{"fullyQualifiedName": problem.place}]}),
    };
    result(
        DOCUMENT.0,
        severity(problem),
        &problem.reason,
        &place,
        rules,
    )
}

fn result(id: &str, severity: Severity, message: &str, place: &Value, rules: &[Rule]) -> Value {
    let index = rules.iter().position(|(rule, _)| *rule == id);
    json!({
        "ruleId": id,
        "ruleIndex": index,
        "level": severity.to_string(),
        "message": {"text": message},
        "locations": [place],
    })
}

fn physical(file: &str, line: Option<usize>) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some(line) = line {
        place["region"] = json!({"startLine": line});
    }
    place
}

/// A relative path as a relative reference, an absolute one as a URI.
fn uri(file: &str) -> String {
    let mut uri = String::new();
    if file.starts_with('/') {
        uri += "file://";
    }
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
