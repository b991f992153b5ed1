//! The kustomize base: the chart with its default values, as files for those who do not use Helm.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;

use crate::chart::{read_yaml, render};

pub(crate) const FOLDER: &str = "controller/deploy/kustomize";

/// Written by hand.
const OWN: [&str; 2] = ["kustomization.yaml", "namespace.yaml"];

/// Parts of the deployment by their folder, and the values that make them. A component holds what is not in the base.
pub(crate) fn parts() -> Vec<(&'static str, Value)> {
    vec![
        ("base", json!({})),
        (
            "components/autoscaling",
            json!({"dataPlane": {"autoscaling": {"enabled": true}}}),
        ),
        (
            "components/cert-manager",
            json!({"xds": {"certificates": "cert-manager"}}),
        ),
        (
            "components/monitoring",
            json!({"metrics": {
                "serviceMonitor": {"enabled": true},
                "prometheusRule": {"enabled": true},
                "dashboard": {"enabled": true},
            }}),
        ),
    ]
}

/// The files of a part: `data-plane/service.yaml` becomes `data-plane-service.yaml`.
fn files(part: &str, values: &Value) -> Result<BTreeMap<String, String>> {
    let base = render(&json!({}))?;
    let is_new = |name: &String| part == "base" || !base.contains_key(name);
    let files = render(values)?.into_iter().filter(|(name, _)| is_new(name));
    Ok(files
        .map(|(name, text)| (name.replace('/', "-"), without_helm(&text)))
        .collect())
}

fn without_helm(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.contains("app.kubernetes.io/managed-by"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn kustomize_base_and_components_match_the_chart() -> Result<()> {
    for (part, values) in parts() {
        let folder = repository().join(FOLDER).join(part);
        let expected = files(part, &values)?;
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(&folder)?;
            for entry in fs::read_dir(&folder)?
                .flatten()
                .filter(|entry| !OWN.iter().any(|own| entry.file_name() == *own))
            {
                fs::remove_file(entry.path())?;
            }
            for (name, text) in &expected {
                fs::write(folder.join(name), text)?;
            }
        }
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            found.insert(name, fs::read_to_string(entry.path())?);
        }
        found.retain(|name, _| !OWN.contains(&name.as_str()));
        ensure!(
            found == expected,
            "{part} is not what the chart gives: UPDATE_GOLDEN=1 writes it"
        );
    }
    Ok(())
}

#[test]
fn kustomization_lists_every_file() -> Result<()> {
    for (part, values) in parts() {
        let list = read_yaml(
            &repository()
                .join(FOLDER)
                .join(part)
                .join("kustomization.yaml"),
        )?;
        let listed: Vec<&str> = list["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let files = files(part, &values)?;
        let own = Some("namespace.yaml").filter(|_| part == "base");
        let expected: Vec<&str> = own
            .into_iter()
            .chain(files.keys().map(String::as_str))
            .collect();
        ensure!(
            listed == expected,
            "{part}: lists {listed:?}, has {expected:?}"
        );
    }
    Ok(())
}
