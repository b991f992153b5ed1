//! Alerts in the hands of promtool, as the real Helm renders them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sluice_tests::artifacts::{self, repository};

use crate::chart::{documents, read_yaml};
use crate::helm;

/// Cases for `promtool test rules`.
const CASES: &str = "tests/packaging/alerts.yaml";

/// The rules of the chart, in a file for promtool.
fn write_rules(folder: &Path) -> Result<Value> {
    let values = json!({"metrics": {"prometheusRule": {"enabled": true}}});
    let rendered = helm::text(&helm::template(&values)?)?;
    let objects = documents(&rendered)?;
    let rule = objects
        .iter()
        .find(|object| object["kind"] == "PrometheusRule");
    let rules = rule.context("no PrometheusRule")?["spec"].clone();
    fs::write(folder.join("rules.yaml"), rules.to_string())?;
    Ok(rules)
}

fn promtool(arguments: &[&str], folder: &Path) -> Result<()> {
    let mut command = Command::new(artifacts::promtool()?);
    let output = command.current_dir(folder).args(arguments).output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    ensure!(output.status.success(), "{arguments:?}: {said}");
    Ok(())
}

#[test]
fn promtool_takes_the_alerts_and_they_fire_as_the_cases_say() -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_rules(folder.path())?;
    fs::copy(repository().join(CASES), folder.path().join("alerts.yaml"))?;
    promtool(&["check", "rules", "rules.yaml"], folder.path())?;
    promtool(&["test", "rules", "alerts.yaml"], folder.path())
}

#[test]
fn each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rules = write_rules(folder.path())?;
    let rules = rules["groups"][0]["rules"].as_array().context("no rules")?;
    let alerts: BTreeSet<&str> = rules
        .iter()
        .filter_map(|rule| rule["alert"].as_str())
        .collect();
    let cases = read_yaml(&repository().join(CASES))?;
    let (mut firing, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for case in cases["tests"].as_array().context("no tests")? {
        for test in case["alert_rule_test"].as_array().context("no test")? {
            let name = test["alertname"].as_str().context("no alertname")?;
            let expected = test["exp_alerts"].as_array().context("no exp_alerts")?;
            let seen = if expected.is_empty() {
                &mut silent
            } else {
                &mut firing
            };
            seen.insert(name);
        }
    }
    assert_eq!(firing, alerts);
    assert_eq!(silent, alerts);
    Ok(())
}

/// A case with another expectation fails: promtool has read these rules.
#[test]
fn promtool_refuses_a_wrong_expectation() -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_rules(folder.path())?;
    let cases = fs::read_to_string(repository().join(CASES))?;
    let wrong = cases.replacen(
        "summary: No Sluice controller answers",
        "summary: Another",
        1,
    );
    ensure!(wrong != cases, "the case is gone");
    fs::write(folder.path().join("alerts.yaml"), wrong)?;
    ensure!(promtool(&["test", "rules", "alerts.yaml"], folder.path()).is_err());
    Ok(())
}
