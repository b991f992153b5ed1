//! Commands of the original's image, as the controller's own: `dbg backends list` is `sluice dbg backends list`.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::then::Then;
use super::super::world::World;
use super::contains;
use crate::artifacts;
use crate::cases::ingress::check::texts;

impl World {
    /// Runs a command.
    pub fn exec(&self, command: &str, then: &Then) -> Result<Vec<String>, String> {
        match self.output(command) {
            Ok(output) => Ok(against(&output, then)),
            Err(error) => Ok(vec![format!("exec {command:?}: {error:#}")]),
        }
    }

    fn output(&self, command: &str) -> Result<String> {
        let words: Vec<&str> = command.trim_start_matches('/').split_whitespace().collect();
        let name = words.first().context("no command")?;
        let help = run(&[name, "--help"]);
        let help = help.with_context(|| format!("the controller has no command {name:?}"))?;
        let socket = self.sluice.admin_socket().display().to_string();
        let mut arguments = words;
        if help.contains("--admin-socket") {
            arguments.extend(["--admin-socket", &socket]);
        }
        run(&arguments)
    }
}

fn run(arguments: &[&str]) -> Result<String> {
    let output = Command::new(artifacts::sluice()?)
        .args(arguments)
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        stderr.lines().next().unwrap_or_default()
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn against(output: &str, then: &Then) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(expected) = &then.lines {
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        let lines = output
            .lines()
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty());
        let lines = sorted(lines.collect());
        if lines != sorted(expected.clone()) {
            reasons.push(format!("lines: expected {expected:?}, got {lines:?}"));
        }
    }
    let json: Value = serde_json::from_str(output).unwrap_or_default();
    if let Some(expected) = &then.json
        && (json.is_null() || !contains(&json, expected))
    {
        reasons.push(format!("json: expected {expected}, got {output:?}"));
    }
    if let Some(expected) = &then.json_name
        && json["name"] != expected.as_str()
    {
        reasons.push(format!("json_name: expected {expected:?}, got {output:?}"));
    }
    for text in then
        .body_contains
        .iter()
        .flat_map(texts)
        .filter(|text| !output.contains(text))
    {
        reasons.push(format!("body_contains: expected {text:?} in {output:?}"));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn output_is_lines_or_json() {
        let wrong = |output: &str, then: Value| {
            against(output, &serde_json::from_value(then).unwrap()).len()
        };
        assert_eq!(wrong("b\na\n", json!({ "lines": ["a", "b"] })), 0);
        assert_eq!(wrong("b\na\nc\n", json!({ "lines": ["a", "b"] })), 1);
        assert_eq!(
            wrong(
                r#"{"name": "a", "x": 1}"#,
                json!({ "json_name": "a", "json": {} })
            ),
            0
        );
        assert_eq!(wrong(r#"{"name": "b"}"#, json!({ "json_name": "a" })), 1);
        assert_eq!(wrong("no json", json!({ "json": {} })), 1);
    }
}
