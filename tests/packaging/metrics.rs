//! Alerts: they are about metrics that there are, and an operator finds what to do.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;

use crate::chart::objects;

/// Not Sluice's own: Prometheus' and Envoy's.
const OTHERS: [&str; 2] = ["up", "envoy_control_plane_connected_state"];
/// Functions and words of PromQL.
const PROMQL: &[&str] = &["absent", "max", "min", "sum", "by", "rate", "time"];

fn rules() -> Result<Vec<Value>> {
    let objects = objects(&json!({"metrics": {"prometheusRule": {"enabled": true}}}))?;
    let rule = objects
        .iter()
        .find(|object| object["kind"] == "PrometheusRule");
    let rules = rule.context("no PrometheusRule")?["spec"]["groups"][0]["rules"].as_array();
    Ok(rules.context("no rules")?.clone())
}

/// Words of an expression that are no labels: outside of braces, brackets and the lists behind `by`.
fn metrics(expression: &str) -> Vec<String> {
    let (mut depth, mut bare) = (0, String::new());
    let expression = expression
        .replace("by (host)", "")
        .replace("by (exported_namespace, ingress)", "");
    for letter in expression.chars() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            letter if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    let words = bare.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_alphabetic());
    words
        .filter(is_name)
        .filter(|word| !PROMQL.contains(word))
        .map(str::to_owned)
        .collect()
}

#[test]
fn alerts_are_about_documented_metrics_and_are_documented() -> Result<()> {
    let page = fs::read_to_string(repository().join("docs/metrics.md"))?;
    let rules = rules()?;
    ensure!(rules.len() > 5, "{} rules", rules.len());
    for rule in rules {
        let name = rule["alert"].as_str().context("no name")?;
        ensure!(
            page.contains(&format!("| `{name}` |")),
            "docs/metrics.md has no {name}"
        );
        let expression = rule["expr"].as_str().with_context(|| name.to_owned())?;
        let named = metrics(expression);
        ensure!(!named.is_empty(), "{name}: {expression}");
        for metric in named {
            let short = metric.trim_start_matches("nginx_ingress_controller_");
            let known = OTHERS.contains(&metric.as_str())
                || page.contains(&format!("`{metric}`"))
                || page.contains(&format!("`{short}`"));
            ensure!(known, "{name}: docs/metrics.md has no {metric}");
        }
        for field in ["summary", "description"] {
            ensure!(rule["annotations"][field].is_string(), "{name}: no {field}");
        }
        ensure!(
            rule["labels"]["severity"].is_string() && rule["for"].is_string(),
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn alerts_select_the_jobs_of_the_monitors() -> Result<()> {
    for rule in rules()? {
        let expression = rule["expr"].as_str().unwrap_or_default();
        // Of a ServiceMonitor the job is the Service's name, of a PodMonitor its own with its namespace.
        let selects = [
            "job=\"sluice-controller\"",
            "job=\"sluice-system/sluice-data-plane\"",
        ];
        ensure!(
            selects.iter().any(|job| expression.contains(job)),
            "{expression}"
        );
    }
    Ok(())
}

#[test]
fn whatever_reads_request_metrics_turns_them_on() -> Result<()> {
    let on = json!({"enabled": true});
    for (values, expected) in [
        (json!({}), false),
        (json!({"dashboard": on}), true),
        (on.clone(), true),
        (json!({"serviceMonitor": on}), true),
        (json!({"prometheusRule": on}), true),
    ] {
        let text = serde_json::to_string(&objects(&json!({"metrics": values}))?)?;
        ensure!(
            text.contains("--enable-metrics=true") == expected,
            "{values}"
        );
    }
    Ok(())
}
