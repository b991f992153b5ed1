//! The kustomize base and its components in the hands of kubectl.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sluice_tests::artifacts::{self, repository};

use crate::base::{FOLDER, parts};
use crate::chart::{documents, objects};
use crate::helm::by_name;

fn kustomize(folder: &Path) -> Result<Vec<Value>> {
    let mut command = Command::new(artifacts::kubectl()?);
    let output = command
        .arg("kustomize")
        .arg(folder)
        .output()
        .context("kubectl")?;
    let error = String::from_utf8_lossy(&output.stderr);
    // Warnings, too: of deprecated fields.
    ensure!(output.status.success() && error.is_empty(), "{error}");
    documents(&String::from_utf8(output.stdout)?)
}

/// `../..` from one folder to another.
fn relative(from: &Path, to: &Path) -> Result<PathBuf> {
    let up = from.canonicalize()?.components().count() - 1;
    let below = to.canonicalize()?;
    let below = below.strip_prefix("/")?;
    Ok(std::iter::repeat_n("..", up)
        .collect::<PathBuf>()
        .join(below))
}

/// The base with a component, as a kustomization of yours has it.
fn with_component(component: &str) -> Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let path = |part: &str| relative(folder.path(), &repository().join(FOLDER).join(part));
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [path("base")?],
        "components": [path(component)?],
    });
    fs::write(
        folder.path().join("kustomization.yaml"),
        kustomization.to_string(),
    )?;
    kustomize(folder.path())
}

/// The object without the label of Helm, and with its flags in order.
fn comparable(mut object: Value) -> Value {
    fn visit(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("app.kubernetes.io/managed-by");
                if let Some(Value::Array(args)) = fields.get_mut("args") {
                    args.sort_by_key(Value::to_string);
                }
                fields.values_mut().for_each(visit);
            }
            Value::Array(items) => items.iter_mut().for_each(visit),
            _ => {}
        }
    }
    visit(&mut object);
    object
}

#[test]
fn kubectl_makes_of_base_and_components_what_the_chart_renders() -> Result<()> {
    for (part, values) in parts() {
        let built = match part {
            "base" => kustomize(&repository().join(FOLDER).join(part)),
            component => with_component(component),
        };
        let mut built = by_name(
            built
                .with_context(|| part.to_owned())?
                .into_iter()
                .map(comparable)
                .collect(),
        );
        let namespace = built.remove("\"Namespace\" null/\"sluice-system\"");
        ensure!(namespace.is_some(), "{part}: no Namespace");
        let rendered = objects(&values)?.into_iter().map(comparable).collect();
        assert_eq!(built, by_name(rendered), "{part}");
    }
    Ok(())
}

#[test]
fn kubectl_takes_the_component_for_bare_metal() -> Result<()> {
    let built = by_name(with_component("components/node-port")?);
    let service = &built["\"Service\" \"sluice-system\"/\"sluice-data-plane\""];
    ensure!(service["spec"]["type"] == "NodePort", "{service}");
    Ok(())
}
