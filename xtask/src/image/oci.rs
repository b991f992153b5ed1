//! Images of the Open Container Initiative: layers, a configuration and a manifest that name each other by hash, in one archive.
//!
//! Neither tar nor gzip writes a time, an owner or an order of its own, so the same files give the same digest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::arch::Arch;
use crate::step::Step;
use crate::work_dir::WorkDir;
use crate::{archive, digest, files};

const SCHEMA: &str = "application/vnd.oci.image";

/// An image before it is written.
pub(super) struct Image {
    pub(super) name: &'static str,
    pub(super) arch: Arch,
    /// RFC 3339.
    pub(super) created: String,
    /// Folders, the lowest first.
    pub(super) layers: Vec<PathBuf>,
    /// `config` of the image's configuration.
    pub(super) config: Value,
}

/// A written one.
pub(super) struct Written {
    pub(super) archive: PathBuf,
    /// Of the manifest: what a registry calls it.
    pub(super) digest: String,
    /// Bytes of the archive.
    pub(super) size: u64,
}

impl Image {
    pub(super) fn write(
        &self,
        step: &mut Step,
        work_dir: &WorkDir,
        output: &Path,
        effort: &str,
    ) -> Result<Written> {
        let layout = Layout {
            folder: work_dir.create(&format!("{}.oci", self.name))?,
        };
        let (mut layers, mut differences) = (Vec::new(), Vec::new());
        for (number, folder) in self.layers.iter().enumerate() {
            let file = layout.folder.join(format!("layer-{number}.tar"));
            archive::pack(step, folder, &file)?;
            differences.push(format!("sha256:{}", digest::sha256(step, &file)?));
            step.run(
                Command::new("gzip")
                    .args(["--no-name", "--force", effort])
                    .arg(&file),
            )?;
            let packed = file.with_extension("tar.gz");
            layers.push(layout.keep(step, &packed, "layer.v1.tar+gzip")?);
        }
        let config = layout.keep_json(step, &self.configuration(&differences), "config.v1+json")?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": format!("{SCHEMA}.manifest.v1+json"),
            "config": config,
            "layers": layers,
        });
        let mut manifest = layout.keep_json(step, &manifest, "manifest.v1+json")?;
        let digest = manifest["digest"].as_str().unwrap_or_default().to_owned();
        let reference = format!("sluice/{}:{}", self.name, env!("CARGO_PKG_VERSION"));
        manifest["platform"] = json!({"architecture": self.arch.name(), "os": "linux"});
        // The second is what containerd, and so kind, calls it.
        manifest["annotations"] = json!({
            "org.opencontainers.image.ref.name": reference,
            "io.containerd.image.name": format!("docker.io/{reference}"),
        });
        layout.close(&manifest)?;
        let archive = output.join(format!("{}.tar", self.name));
        archive::pack(step, &layout.folder, &archive)?;
        fs::remove_dir_all(&layout.folder)?;
        let size = archive.metadata()?.len();
        Ok(Written {
            archive,
            digest,
            size,
        })
    }

    fn configuration(&self, differences: &[String]) -> Value {
        let history: Vec<Value> = differences
            .iter()
            .map(|_| json!({"created": self.created, "created_by": "cargo xtask image"}))
            .collect();
        json!({
            "created": self.created,
            "architecture": self.arch.name(),
            "os": "linux",
            "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": differences},
            "history": history,
        })
    }
}

/// The folder that becomes the archive.
struct Layout {
    folder: PathBuf,
}

impl Layout {
    /// Takes a file in under its hash; its descriptor.
    fn keep(&self, step: &mut Step, file: &Path, media_type: &str) -> Result<Value> {
        let (hash, size) = (digest::sha256(step, file)?, file.metadata()?.len());
        let blobs = self.folder.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        fs::rename(file, blobs.join(&hash)).with_context(|| file.display().to_string())?;
        Ok(json!({
            "mediaType": format!("{SCHEMA}.{media_type}"),
            "digest": format!("sha256:{hash}"),
            "size": size,
        }))
    }

    fn keep_json(&self, step: &mut Step, value: &Value, media_type: &str) -> Result<Value> {
        let file = self.folder.join("staged.json");
        files::write(&file, serde_json::to_vec(value)?)?;
        self.keep(step, &file, media_type)
    }

    fn close(&self, manifest: &Value) -> Result<()> {
        let index = json!({
            "schemaVersion": 2,
            "mediaType": format!("{SCHEMA}.index.v1+json"),
            "manifests": [manifest],
        });
        files::write(&self.folder.join("index.json"), serde_json::to_vec(&index)?)?;
        files::write(
            &self.folder.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )?;
        files::set_modes(&self.folder)
    }
}
