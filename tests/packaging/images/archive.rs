//! An OCI archive, as a registry or a runtime reads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// An archive whose every hash has been checked.
pub(super) struct Archive {
    folder: TempDir,
    /// `config` of the configuration.
    pub(super) config: Value,
    /// The configuration itself.
    pub(super) image: Value,
}

impl Archive {
    /// Reads one, and lays its layers over each other.
    pub(super) fn open(file: &Path) -> Result<Archive> {
        let folder = tempfile::tempdir()?;
        unpack(file, &folder.path().join("layout"))?;
        let layout = folder.path().join("layout");
        let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
        let manifest: Value = serde_json::from_slice(&blob(&layout, &index["manifests"][0])?)?;
        let image: Value = serde_json::from_slice(&blob(&layout, &manifest["config"])?)?;
        let layers = manifest["layers"].as_array().context("no layers")?;
        let differences = image["rootfs"]["diff_ids"]
            .as_array()
            .context("no diff_ids")?;
        ensure!(
            layers.len() == differences.len() && layers.len() > 1,
            "{manifest}"
        );
        let root = folder.path().join("root");
        for (layer, difference) in layers.iter().zip(differences) {
            blob(&layout, layer)?;
            let packed = path(&layout, layer)?;
            let plain = Command::new("gzip")
                .args(["--decompress", "--stdout"])
                .arg(&packed)
                .output()?;
            ensure!(
                *difference == digest(&plain.stdout),
                "{layer}: not {difference}"
            );
            unpack(&packed, &root)?;
        }
        Ok(Archive {
            folder,
            config: image["config"].clone(),
            image,
        })
    }

    /// The image's root.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(super) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root().join(path)).with_context(|| path.to_owned())
    }
}

fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut tar = Command::new("tar");
    // With the modes of the archive, also where a file may be written to by others.
    tar.args([
        "--extract",
        "--same-permissions",
        "--no-same-owner",
        "--file",
    ])
    .arg(archive);
    let output = tar.arg("--directory").arg(folder).output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn path(layout: &Path, descriptor: &Value) -> Result<PathBuf> {
    let digest = descriptor["digest"].as_str().context("no digest")?;
    let hash = digest
        .strip_prefix("sha256:")
        .with_context(|| digest.to_owned())?;
    Ok(layout.join("blobs/sha256").join(hash))
}

/// The bytes that a descriptor names, of the size and with the hash that it says.
fn blob(layout: &Path, descriptor: &Value) -> Result<Vec<u8>> {
    let bytes = fs::read(path(layout, descriptor)?).with_context(|| descriptor.to_string())?;
    ensure!(
        descriptor["size"] == bytes.len(),
        "{descriptor}: {} bytes",
        bytes.len()
    );
    ensure!(
        descriptor["digest"] == digest(&bytes),
        "{descriptor}: other bytes"
    );
    Ok(bytes)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{:x}", Sha256::digest(bytes))
}
