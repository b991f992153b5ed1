//! D1, D2, D4, D5 and D6, as far as manifests decide them: who may depend on what. Dependencies of tests are free.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sluice_tests::artifacts::repository;

use crate::tree::{Source, sources};

/// Packages whose dependencies are a closed list.
const CLOSED: &[(&str, &[&str])] = &[
    // D1: the wire schema is read inside the filter.
    ("sluice-filter-config", &["serde", "serde_json"]),
    // D2: what decides knows no host.
    (
        "sluice-filter-core",
        &[
            "crc32fast",
            "foldhash",
            "md-5",
            "regex-lite",
            "sluice-filter-config",
        ],
    ),
    (
        "sluice-filter",
        &[
            "proxy-wasm",
            "rustc-hash",
            "sluice-filter-config",
            "sluice-filter-core",
        ],
    ),
    // The nginx module joins two crates that do not know each other; only one of them knows nginx. The names of the
    // host contract come from the wire schema.
    (
        "sluice-nginx-module",
        &[
            "rustix",
            "sluice-filter-config",
            "sluice-ngx",
            "sluice-wasm-host",
        ],
    ),
    ("sluice-ngx", &["httparse", "nginx-sys", "wasmtime"]),
    ("sluice-wasm-host", &["anyhow", "wasmtime"]),
    // D4: the model knows no API of anybody. `ipnet` is what `std::net` lacks: networks, of no protocol in particular.
    // Hash keys are the filter's.
    (
        "sluice-ir",
        &["imbl", "ipnet", "serde", "sluice-filter-config"],
    ),
    // A pattern is a text, and what it costs is the same for everybody.
    ("sluice-pattern", &["regex-syntax"]),
    // Texts of manifests have their grammars without Kubernetes.
    (
        "sluice-syntax",
        &[
            "rustls",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-ir",
            "sluice-pattern",
            "x509-parser",
        ],
    ),
    // The engine knows Kubernetes' objects, but no Ingress's annotations.
    (
        "sluice-translate-engine",
        &[
            "k8s-openapi",
            "serde",
            "serde_ignored",
            "serde_json",
            "serde_path_to_error",
            "sha2",
            "sluice-basic-auth",
            "sluice-digest-auth",
            "sluice-ir",
            "sluice-syntax",
        ],
    ),
    // Passwords are values, and seen by nobody else.
    (
        "sluice-basic-auth",
        &[
            "base64",
            "bcrypt",
            "crypt3_rs",
            "sha1",
            "sha2",
            "sluice-fair",
            "subtle",
        ],
    ),
    ("sluice-digest-auth", &["base64", "md-5", "sha2", "subtle"]),
    // Shares are numbers.
    ("sluice-fair", &[]),
    ("sluice-tasks", &["anyhow", "futures", "tokio", "tracing"]),
    // Child processes know neither Kubernetes nor the translation: settings are values, results are callbacks.
    (
        "sluice-dataplane",
        &[
            "anyhow",
            "futures",
            "http-body-util",
            "hyper",
            "hyper-util",
            "procfs",
            "rustix",
            "serde",
            "serde_json",
            "sha2",
            "sluice-ir",
            "sluice-nginx",
            "sluice-tasks",
            "sluice-xds",
            "sluice-xds-server",
            "tempfile",
            "tokio",
            "tracing",
        ],
    ),
    // D5: a renderer sees the IR and its target.
    (
        "sluice-plugin",
        &[
            "serde",
            "serde_json",
            "sha2",
            "sluice-filter-config",
            "sluice-ir",
        ],
    ),
    (
        "sluice-nginx",
        &[
            "askama",
            "serde_json",
            "sha2",
            "sluice-filter-config",
            "sluice-ir",
            "sluice-pattern",
        ],
    ),
    (
        "sluice-xds",
        &[
            "base64",
            "envoy-types",
            "prost",
            "prost-reflect",
            "serde",
            "serde_json",
            "sluice-filter-config",
            "sluice-filter-core",
            "sluice-ir",
            "sluice-pattern",
        ],
    ),
    // The server sees neither the model nor Kubernetes: it serves bytes.
    (
        "sluice-xds-server",
        &[
            "envoy-types",
            "futures",
            "prost",
            "sha2",
            "sluice-xds",
            "tokio",
            "tokio-stream",
            "tonic",
            "tracing",
        ],
    ),
];

/// Dependencies that only these packages may have.
const RESERVED: &[(&str, &[&str])] = &[
    // D5
    (
        "k8s-openapi",
        &[
            "sluice-translate",
            "sluice-translate-engine",
            "sluice-kube",
            "sluice-lint",
            "sluice-admission",
            "sluice-admin",
        ],
    ),
    ("envoy-types", &["sluice-xds", "sluice-xds-server"]),
    ("tonic", &["sluice-xds-server", "sluice-server", "sluice"]),
    ("askama", &["sluice-nginx"]),
    // D6
    ("kube", &["sluice-kube"]),
    (
        "tokio",
        &[
            "sluice",
            "sluice-admin",
            "sluice-admission",
            "sluice-authz",
            "sluice-dataplane",
            "sluice-kube",
            "sluice-metrics",
            "sluice-publish",
            "sluice-quarantine",
            "sluice-resolver",
            "sluice-server",
            "sluice-source",
            "sluice-state",
            "sluice-tasks",
            "sluice-xds-server",
            "sluice-tests",
        ],
    ),
    // D3
    ("proxy-wasm", &["sluice-filter"]),
    (
        "wasmtime",
        &["sluice-ngx", "sluice-wasm-host", "sluice-tests"],
    ),
    ("nginx-sys", &["sluice-ngx"]),
    (
        "anyhow",
        &[
            "sluice",
            "sluice-admin",
            "sluice-admission",
            "sluice-authz",
            "sluice-dataplane",
            "sluice-kube",
            "sluice-metrics",
            "sluice-resolver",
            "sluice-server",
            "sluice-source",
            "sluice-tasks",
            "sluice-tests",
            "sluice-wasm-host",
            "xtask",
        ],
    ),
];

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
    let all: BTreeSet<String> = dependencies(|_| true).into_values().flatten().collect();
    let ours: BTreeSet<String> = dependencies(|_| true).into_keys().collect();
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
    for package in metadata["packages"].as_array().unwrap() {
        let words = words_of_sources(package);
        unused.extend(
            direct(package, |_| true)
                .into_iter()
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

/// Direct dependencies of each package of the workspace.
fn dependencies(wanted: fn(&Value) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| (name(package), direct(package, wanted)))
        .collect()
}

fn direct(package: &Value, wanted: fn(&Value) -> bool) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies
        .iter()
        .filter(|dependency| wanted(dependency))
        .map(name)
        .collect()
}

fn name(of: &Value) -> String {
    of["name"].as_str().unwrap().to_owned()
}

/// Not only for tests.
fn is_shipped(dependency: &Value) -> bool {
    dependency["kind"] != "dev"
}

fn metadata() -> Value {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
        "--offline",
    ]);
    let output = cargo.current_dir(repository()).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}
