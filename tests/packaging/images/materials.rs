//! Bills of materials and licences.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts::repository;

use super::archive::{Archive, digest};

const DOCUMENTS: &str = "usr/share/doc/sluice";

/// Each program, package and crate is there, with the hash that says which one; and each has its licence.
pub(super) fn are_complete(image: &str, archive: &Archive) -> Result<()> {
    let bill: Value = serde_json::from_str(&archive.read(&format!("{DOCUMENTS}/sbom.cdx.json"))?)?;
    ensure!(
        bill["bomFormat"] == "CycloneDX" && bill["specVersion"] == "1.5",
        "{}",
        bill["specVersion"]
    );
    ensure!(
        bill["metadata"]["component"]["name"] == format!("sluice/{image}"),
        "{}",
        bill["metadata"]
    );
    let components = bill["components"].as_array().context("no components")?;
    let references: BTreeSet<&str> = components
        .iter()
        .filter_map(|one| one["bom-ref"].as_str())
        .collect();
    ensure!(
        references.len() == components.len(),
        "two components have one reference"
    );
    programs_are_listed(image, archive, components)?;
    packages_are_listed(archive, components)?;
    crates_are_listed(image, archive, components)
}

fn component<'a>(components: &'a [Value], name: &str) -> Result<&'a Value> {
    let found = components
        .iter()
        .find(|component| component["name"] == name);
    found.with_context(|| format!("{name} is not in the bill of materials"))
}

fn programs_are_listed(image: &str, archive: &Archive, components: &[Value]) -> Result<()> {
    let files: &[&str] = match image {
        "envoy" => &[
            "usr/bin/sluice",
            "usr/lib/sluice/envoy",
            "usr/lib/sluice/libsluice_envoy.so",
            "usr/share/sluice/sluice_filter.wasm",
        ],
        "nginx" => &[
            "usr/bin/sluice",
            "usr/lib/sluice/libngx_sluice.so",
            "usr/lib/sluice/sluice_filter.cwasm",
        ],
        _ => &["usr/bin/sluice"],
    };
    for path in files {
        let bytes = fs::read(archive.root().join(path)).with_context(|| (*path).to_owned())?;
        let name = path.rsplit('/').next().unwrap_or(path);
        let hash = &component(components, name)?["hashes"][0];
        ensure!(hash["alg"] == "SHA-256", "{name}: {hash}");
        let hash = hash["content"].as_str().unwrap_or_default();
        ensure!(digest(&bytes) == format!("sha256:{hash}"), "{name}: {hash}");
    }
    Ok(())
}

/// As scanners find them: by the status of each package, and by package URLs.
fn packages_are_listed(archive: &Archive, components: &[Value]) -> Result<()> {
    let status = archive.root().join("var/lib/dpkg/status.d");
    let mut count = 0;
    for entry in fs::read_dir(&status)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path())?;
        let field = |field: &str| text.lines().find_map(|line| line.strip_prefix(field));
        ensure!(field("Package: ") == Some(&name), "{name}: {text}");
        let version = field("Version: ").with_context(|| name.clone())?;
        let component = component(components, &name)?;
        ensure!(
            component["version"] == version,
            "{component}: not {version}"
        );
        ensure!(component["hashes"][0]["alg"] == "SHA-256", "{component}");
        let url = component["purl"].as_str().unwrap_or_default();
        ensure!(url.starts_with("pkg:deb/"), "{component}");
        let copyright = archive.read(&format!("usr/share/doc/{name}/copyright"))?;
        ensure!(copyright.len() > 200, "{name}: no licence");
        count += 1;
    }
    let listed = components.iter().filter(|one| {
        one["purl"]
            .as_str()
            .is_some_and(|url| url.starts_with("pkg:deb/"))
    });
    ensure!(listed.count() == count && count > 3, "{count} packages");
    Ok(())
}

/// The hash of a crate is that of the lock file. Which crates there must be: some that each image cannot do without.
fn crates_are_listed(image: &str, archive: &Archive, components: &[Value]) -> Result<()> {
    let lock = fs::read_to_string(repository().join("Cargo.lock"))?;
    let licences = archive.read(&format!("{DOCUMENTS}/THIRD-PARTY.txt"))?;
    for name in ["serde", "rustls", "ring", "kube", "proxy-wasm", "rust-std"] {
        component(components, name)?;
    }
    ensure!(
        (image == "nginx") == component(components, "wasmtime").is_ok(),
        "wasmtime"
    );
    // Tests and compilers are in none.
    for name in ["proptest", "cranelift-codegen", "clap_derive", "syn"] {
        ensure!(
            component(components, name).is_err(),
            "{name} is in no program"
        );
    }
    for component in components.iter().filter(|one| {
        one["purl"]
            .as_str()
            .is_some_and(|url| url.starts_with("pkg:cargo/"))
    }) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (name, version) = (text(&component["name"]), text(&component["version"]));
        let hash = text(&component["hashes"][0]["content"]);
        let package = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let locked = lock
            .split("[[package]]\n")
            .find(|entry| entry.starts_with(&package));
        ensure!(
            locked
                .with_context(|| package.clone())?
                .contains(&format!("checksum = \"{hash}\"")),
            "{component}"
        );
        let licence = text(&component["licenses"][0]["expression"]);
        ensure!(!licence.is_empty(), "{component}: no licence");
        ensure!(
            licences.contains(&format!("\n{name} {version} ({licence})")),
            "{name} {version}: no text of its licence"
        );
    }
    ensure!(
        archive
            .read(&format!("{DOCUMENTS}/LICENSE"))?
            .contains("Apache License"),
        "ours"
    );
    ensure!(
        archive
            .read(&format!("{DOCUMENTS}/rust-std-COPYRIGHT.html"))?
            .contains("Apache"),
        "Rust's"
    );
    ensure!(image != "envoy" || licences.contains("\nenvoy "), "Envoy's");
    Ok(())
}
