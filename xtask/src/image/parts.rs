//! Parts of an image: our programs, crates in them, packages beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::arch::Arch;
use crate::build::cargo;
use crate::repository;
use crate::setup::WASM_TARGET;
use crate::step::Step;

/// One entry of the bill of materials.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// `application` or `library`, as CycloneDX has it.
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression. Those of packages are in their copyright files.
    pub(super) licence: Option<String>,
    /// Package URL.
    pub(super) url: Option<String>,
    /// Of what was fetched, or of the file in the image.
    pub(super) sha256: Option<String>,
    /// Sources, with the texts of licences; names of authors.
    pub(super) source: Option<(PathBuf, Vec<String>)>,
}

impl Part {
    /// A program or a file in the image.
    pub(super) fn file(name: &str, version: &str, sha256: String) -> Part {
        Part {
            kind: "application",
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some("Apache-2.0".to_owned()),
            url: None,
            sha256: Some(sha256),
            source: None,
        }
    }

    /// A package of the distribution, `debian-12` for example.
    pub(super) fn package(arch: Arch, name: &str, version: &str, hash: &str, of: &str) -> Part {
        let vendor = of.split('-').next().unwrap_or(of);
        // In a package URL a plus is a plus, but colon and tilde are not in a version.
        let encoded = version.replace('+', "%2B").replace(':', "%3A");
        let arch = arch.name();
        Part {
            kind: "library",
            name: name.to_owned(),
            version: version.to_owned(),
            licence: None,
            url: Some(format!(
                "pkg:deb/{vendor}/{name}@{encoded}?arch={arch}&distro={of}"
            )),
            sha256: Some(hash.to_owned()),
            source: None,
        }
    }
}

/// All crates that the lock file has for targets of ours.
pub(super) struct Crates {
    arch: Arch,
    known: BTreeMap<(String, String), Part>,
}

impl Crates {
    pub(super) fn read(step: &mut Step, arch: Arch) -> Result<Crates> {
        let known = metadata(step)?;
        Ok(Crates { arch, known })
    }

    /// Crates that Cargo links into packages of ours, and the standard library.
    pub(super) fn linked_into(&self, step: &mut Step, packages: &[&str]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        for package in packages {
            let target = match *package {
                "sluice-filter" => WASM_TARGET,
                _ => self.arch.triple(),
            };
            for name in linked(step, package, target)? {
                let part = self.known.get(&name);
                parts.push(
                    part.with_context(|| format!("cargo metadata has no {name:?}"))?
                        .clone(),
                );
            }
        }
        // Ours are parts of the program.
        parts.retain(|part| part.url.is_some());
        ensure!(
            !parts.is_empty(),
            "cargo tree names no crate of {packages:?}"
        );
        parts.push(standard_library()?);
        Ok(parts)
    }
}

/// `NAME vVERSION` of each crate that ends up in a program.
fn linked(step: &mut Step, package: &str, target: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", package, "--target", target]);
    tree.args([
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let (status, output) = step.capture(&mut tree)?;
    ensure!(status.success(), "cargo tree: {output}");
    let name = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        let version = rest.split_whitespace().next()?;
        Some((name.to_owned(), version.to_owned()))
    };
    Ok(output.lines().filter_map(name).collect())
}

fn metadata(step: &mut Step) -> Result<BTreeMap<(String, String), Part>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--locked", "--format-version", "1"]);
    for target in [Arch::Amd64.triple(), Arch::Arm64.triple(), WASM_TARGET] {
        metadata.args(["--filter-platform", target]);
    }
    let (status, output) = step.capture(&mut metadata)?;
    ensure!(status.success(), "cargo metadata: {output}");
    let json = output
        .lines()
        .find(|line| line.starts_with('{'))
        .context("cargo metadata")?;
    let json: Value = serde_json::from_str(json)?;
    let packages = json["packages"].as_array().context("no packages")?;
    let hashes = hashes()?;
    packages
        .iter()
        .map(|package| part(package, &hashes))
        .collect()
}

type Hashes = BTreeMap<(String, String), String>;

fn part(package: &Value, hashes: &Hashes) -> Result<((String, String), Part)> {
    let text = |field: &str| package[field].as_str().map(str::to_owned);
    let (name, version) = (
        text("name").context("no name")?,
        text("version").context("no version")?,
    );
    let manifest = PathBuf::from(text("manifest_path").context("no manifest_path")?);
    let authors = package["authors"].as_array().into_iter().flatten();
    let authors = authors
        .filter_map(|author| Some(author.as_str()?.to_owned()))
        .collect();
    let key = (name.clone(), version.clone());
    let is_ours = package["source"].is_null();
    let part = Part {
        kind: "library",
        licence: text("license").map(|licence| expression(&licence)),
        url: (!is_ours).then(|| format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))),
        sha256: hashes.get(&key).cloned(),
        source: manifest.parent().map(|folder| (folder.to_owned(), authors)),
        name,
        version,
    };
    Ok((key, part))
}

/// In older crates a slash stands for OR.
fn expression(licence: &str) -> String {
    let choices: Vec<&str> = licence.split('/').map(str::trim).collect();
    choices.join(" OR ")
}

/// Those of the lock file.
fn hashes() -> Result<Hashes> {
    let text = fs::read_to_string(repository().join("Cargo.lock")).context("Cargo.lock")?;
    let packages = text.split("[[package]]").skip(1);
    let hash = |package: &str| {
        let value = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        Some((
            (value("name = ")?, value("version = ")?),
            value("checksum = ")?,
        ))
    };
    Ok(packages.filter_map(hash).collect())
}

fn standard_library() -> Result<Part> {
    let toolchain = repository().join("rust-toolchain.toml");
    let text = fs::read_to_string(&toolchain).with_context(|| toolchain.display().to_string())?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("channel = "));
    let version = version
        .context("no channel in rust-toolchain.toml")?
        .trim_matches('"');
    Ok(Part {
        kind: "library",
        name: "rust-std".to_owned(),
        version: version.to_owned(),
        licence: Some("MIT OR Apache-2.0".to_owned()),
        url: Some(format!("pkg:github/rust-lang/rust@{version}")),
        sha256: None,
        source: None,
    })
}
