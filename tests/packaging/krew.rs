//! The krew manifest of `kubectl sluice`: valid by krew's rules, and true of the archives that it names.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sluice_tests::artifacts::{self, repository};
use tempfile::TempDir;

use crate::chart::read_yaml;

const URL: &str = "https://example.com/releases/download/v1";

/// Has `cargo xtask plugin` pack the controller of this run, and for the other architecture something else.
fn build() -> Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("sluice-plugin-")
        .tempdir()?;
    let (program, other) = (folder.path().join("program"), folder.path().join("other"));
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&program).arg(artifacts::sluice()?);
    ensure!(strip.status().context("strip")?.success());
    fs::write(&other, "#!/bin/sh\n")?;
    fs::set_permissions(&other, fs::metadata(&program)?.permissions())?;
    let (native, foreign) = match std::env::consts::ARCH {
        "aarch64" => ("arm64", "amd64"),
        _ => ("amd64", "arm64"),
    };
    let mut xtask = Command::new(artifacts::xtask()?);
    xtask.current_dir(repository()).arg("plugin");
    xtask.args(["--url", URL]).arg("--output");
    xtask.arg(folder.path().join("output"));
    for (arch, path) in [(native, program), (foreign, other)] {
        xtask.arg("--program");
        xtask.arg(format!("{arch}={}", path.display()));
    }
    let result = xtask.output().context("xtask")?;
    let said = String::from_utf8_lossy(&result.stderr);
    ensure!(result.status.success(), "{said}");
    Ok(folder)
}

/// Keys of an object: krew reads no others, and those that it knows are there.
fn ensure_keys(value: &Value, keys: &[&str]) -> Result<()> {
    let object = value.as_object().context("no object")?;
    let found: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    ensure!(found == keys, "{found:?} instead of {keys:?}");
    Ok(())
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    let text = value[key].as_str().filter(|text| !text.is_empty());
    text.with_context(|| format!("{key} of {value}"))
}

fn ensure_valid(name: &str, manifest: &Value) -> Result<()> {
    ensure_keys(manifest, &["apiVersion", "kind", "metadata", "spec"])?;
    ensure!(manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2");
    ensure!(manifest["kind"] == "Plugin");
    ensure!(manifest["metadata"] == json!({"name": name}));
    ensure!(Regex::new(r"^[\w-]+$")?.is_match(name), "{name}");
    let spec = &manifest["spec"];
    ensure_keys(
        spec,
        &["version", "shortDescription", "description", "platforms"],
    )?;
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    ensure!(spec["version"] == version.as_str(), "{spec}");
    ensure!(!text(spec, "shortDescription")?.contains(['\r', '\n']));
    let platforms = spec["platforms"].as_array().context("no platforms")?;
    let selectors: Vec<&Value> = platforms
        .iter()
        .map(|platform| &platform["selector"])
        .collect();
    let selector = |arch: &str| json!({"matchLabels": {"os": "linux", "arch": arch}});
    let expected = ["amd64", "arm64"].map(selector);
    ensure!(
        selectors.len() == 2 && expected.iter().all(|one| selectors.contains(&one)),
        "{selectors:?}"
    );
    platforms.iter().try_for_each(ensure_valid_platform)
}

fn ensure_valid_platform(platform: &Value) -> Result<()> {
    ensure_keys(platform, &["selector", "uri", "sha256", "files", "bin"])?;
    let uri = text(platform, "uri")?;
    ensure!(uri.starts_with(URL) && uri.ends_with(".tar.gz"), "{uri}");
    let sha256 = text(platform, "sha256")?;
    ensure!(Regex::new("^[a-f0-9]{64}$")?.is_match(sha256), "{sha256}");
    text(platform, "bin")?;
    let files = platform["files"].as_array().context("no files")?;
    ensure!(!files.is_empty());
    for operation in files {
        ensure_keys(operation, &["from", "to"])?;
        for path in [text(operation, "from")?, text(operation, "to")?] {
            let is_below =
                |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
            ensure!(Path::new(path).components().all(is_below), "{path}");
        }
    }
    Ok(())
}

/// Does what krew does to install a platform.
fn install(platform: &Value, archives: &Path, place: &Path) -> Result<()> {
    let name = text(platform, "uri")?
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let archive = archives.join(name);
    let bytes = fs::read(&archive).with_context(|| archive.display().to_string())?;
    let digest: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    ensure!(digest == text(platform, "sha256")?, "{name}: {digest}");
    let unpacked = place.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(&archive);
    ensure!(tar.arg("--directory").arg(&unpacked).status()?.success());
    for operation in platform["files"].as_array().into_iter().flatten() {
        let (from, to) = (text(operation, "from")?, text(operation, "to")?);
        let to: PathBuf = place.join("installed").join(to).components().collect();
        fs::create_dir_all(&to)?;
        fs::rename(unpacked.join(from), to.join(from)).with_context(|| from.to_owned())?;
    }
    let left: Vec<_> = fs::read_dir(&unpacked)?.collect();
    ensure!(left.is_empty(), "not installed: {left:?}");
    Ok(())
}

#[test]
fn krew_manifest_is_valid_and_installs_a_program_that_runs() -> Result<()> {
    let built = build()?;
    let output = built.path().join("output");
    let manifest = read_yaml(&output.join("plugins/sluice.yaml"))?;
    ensure_valid("sluice", &manifest)?;
    let native = built.path().join("program");
    let mut runs = 0;
    for platform in manifest["spec"]["platforms"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let arch = text(&platform["selector"]["matchLabels"], "arch")?;
        let place = built.path().join(arch);
        install(platform, &output, &place)?;
        let installed = place.join("installed");
        ensure!(installed.join("LICENSE").is_file());
        let program = installed.join(text(platform, "bin")?);
        if fs::read(&program)? != fs::read(&native)? {
            continue;
        }
        // By krew's link, as kubectl calls it.
        let link = place.join("kubectl-sluice");
        std::os::unix::fs::symlink(&program, &link)?;
        let said = Command::new(&link).arg("--help").output()?;
        let help = String::from_utf8_lossy(&said.stdout).into_owned();
        ensure!(help.contains("backends") && said.status.success(), "{help}");
        runs += 1;
    }
    ensure!(runs == 1, "{runs} archives with the program of this run");
    Ok(())
}
