//! D1, D2, D4, D5 and D6, as far as manifests decide them: who may depend on what. Dependencies of tests are free.

mod lists;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_tests::artifacts::repository;

use lists::{CLOSED, RESERVED};

use crate::packages::{built, dependencies, direct, is_shipped, metadata, name};
use crate::tree::{Source, sources};

/// A package that only switches on features of others.
const FEATURES_ONLY: &str = "workspace-hack";

#[test]
fn packages_with_a_closed_list_of_dependencies_keep_it() {
    let packages = dependencies(is_shipped);
    let mut wrong = Vec::new();
    for (package, allowed) in CLOSED {
        let found = packages.get(*package).into_iter().flatten();
        wrong.extend(
            found
                .filter(|name| !allowed.contains(&name.as_str()))
                .map(|n| format!("{package}: {n}")),
        );
    }
    assert!(
        wrong.is_empty(),
        "against D1-D5 of the design:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn reserved_dependencies_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for (package, found) in dependencies(is_shipped) {
        for (name, allowed) in RESERVED {
            if found.contains(*name) && !allowed.contains(&package.as_str()) {
                wrong.push(format!("{package}: {name}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against D3-D6 of the design:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_direct_dependency_is_explained() {
    let path = repository().join("docs/dependencies.md");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut packages = dependencies(|_| true);
    // Its own Cargo.toml says why.
    packages.remove(FEATURES_ONLY);
    let ours: BTreeSet<String> = dependencies(|_| true).into_keys().collect();
    let all: BTreeSet<String> = packages.into_values().flatten().collect();
    let missing: Vec<String> = all
        .into_iter()
        .filter(|name| !ours.contains(name) && !text.contains(&format!("| {name} |")))
        .collect();
    assert!(
        missing.is_empty(),
        "say in docs/dependencies.md why these are here: {}",
        missing.join(", ")
    );
}

#[test]
fn every_direct_dependency_is_used() {
    let metadata = metadata();
    let mut unused = Vec::new();
    let packages = metadata["packages"].as_array().unwrap().iter();
    for package in packages.filter(|package| name(package) != FEATURES_ONLY) {
        let words = words_of_sources(package);
        unused.extend(
            direct(package, |_| true)
                .into_iter()
                .filter(|dependency| dependency != FEATURES_ONLY)
                .filter(|dependency| !words.contains(crate_name(dependency).as_str()))
                .map(|dependency| format!("{}: {dependency}", name(package))),
        );
    }
    assert!(
        unused.is_empty(),
        "remove from Cargo.toml:\n{}",
        unused.join("\n")
    );
}

#[test]
fn the_demo_is_built_of_what_the_tests_are_built_of() {
    let tests = built(&["--workspace", "--exclude", "xtask"]);
    let demo = built(&[
        "--package",
        "sluice",
        "--package",
        "sluice-tests",
        "--no-default-features",
        "--edges",
        "normal,build",
    ]);
    let own: Vec<&String> = demo
        .difference(&tests)
        .filter(|package| !package.starts_with("sluice-tests "))
        .collect();
    assert!(
        own.is_empty(),
        "these would be compiled twice; add the features that they lack to tests/workspace-hack: {own:#?}"
    );
}

/// Identifiers in the Rust files below the folders of a package's targets.
fn words_of_sources(package: &Value) -> BTreeSet<String> {
    let targets = package["targets"].as_array().unwrap();
    let folders: BTreeSet<PathBuf> = targets
        .iter()
        .filter_map(|target| Path::new(target["src_path"].as_str()?).parent())
        .filter_map(|folder| folder.strip_prefix(repository()).ok())
        .map(Path::to_owned)
        .collect();
    let texts = folders
        .iter()
        .flat_map(|folder| sources(folder.to_str().unwrap()));
    let words = |source: Source| -> Vec<String> {
        let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
        source.text.split(is_separator).map(str::to_owned).collect()
    };
    texts.flat_map(words).collect()
}

/// The name in `use`.
fn crate_name(package: &str) -> String {
    match package {
        "md-5" => "md5".to_owned(),
        _ => package.replace('-', "_"),
    }
}
