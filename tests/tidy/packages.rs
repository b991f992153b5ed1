//! Packages of the workspace and their dependencies, as cargo says them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use sluice_tests::artifacts::repository;

/// Direct dependencies of each package of the workspace.
pub(crate) fn dependencies(wanted: fn(&Value) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| (name(package), direct(package, wanted)))
        .collect()
}

pub(crate) fn direct(package: &Value, wanted: fn(&Value) -> bool) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies
        .iter()
        .filter(|dependency| wanted(dependency))
        .map(name)
        .collect()
}

pub(crate) fn name(of: &Value) -> String {
    of["name"].as_str().unwrap().to_owned()
}

/// Not only for tests.
pub(crate) fn is_shipped(dependency: &Value) -> bool {
    dependency["kind"] != "dev"
}

pub(crate) fn metadata() -> Value {
    serde_json::from_slice(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap()
}

/// Packages with their versions and features, as a build of this choice has them.
pub(crate) fn built(choice: &[&str]) -> BTreeSet<String> {
    let format = ["--prefix", "none", "--format", "{p} {f}"];
    let tree = cargo(&[&["tree"][..], &format, choice].concat());
    let tree = String::from_utf8(tree).unwrap();
    tree.lines()
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).arg("--offline");
    let output = cargo.current_dir(repository()).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
