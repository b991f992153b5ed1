//! The three images: their files and what they run.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::debian::Debian;
use super::oci::Image;
use super::parts::{Crates, Part};
use super::programs::{Envoy, Nginx, Programs};
use super::{licences, sbom};
use crate::arch::Arch;
use crate::setup::ENVOY_VERSION;
use crate::step::Step;
use crate::work_dir::WorkDir;
use crate::{digest, files, repository};

/// As in the chart: nobody, in a group of its own.
const USER: &str = "65532:65532";
const PASSWD: &str =
    "root:x:0:0:root:/:/usr/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/usr/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";
/// Files first, then DNS: glibc has this in it, others read it.
const NAMES: &str = "hosts: files dns\n";
const BASE: [&str; 3] = ["base-files", "libc6", "libgcc-s1"];
const NGINX: [&str; 2] = ["nginx", "libnginx-mod-stream"];

/// One of the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    Controller,
    Envoy,
    Nginx,
}

impl Recipe {
    pub(super) const ALL: [Recipe; 3] = [Recipe::Controller, Recipe::Envoy, Recipe::Nginx];

    pub(super) fn parse(name: &str) -> Result<Recipe> {
        let found = Recipe::ALL.into_iter().find(|recipe| recipe.name() == name);
        found.map_or_else(|| bail!("there is no image {name:?}"), Ok)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Recipe::Controller => "controller",
            Recipe::Envoy => "envoy",
            Recipe::Nginx => "nginx",
        }
    }

    /// Returns `false` for nginx on other machines than those it is for.
    pub(super) fn can_be_built_for(self, arch: Arch) -> bool {
        self != Recipe::Nginx || arch.is_native()
    }

    fn description(self) -> &'static str {
        match self {
            Recipe::Controller => "Sluice, an ingress controller",
            Recipe::Envoy => "Envoy as the data plane of Sluice",
            Recipe::Nginx => "Sluice with nginx as its data plane",
        }
    }

    fn command(self) -> &'static [&'static str] {
        match self {
            Recipe::Controller => &["run", "--data-plane=none"],
            Recipe::Envoy => &["envoy", "--help"],
            Recipe::Nginx => &["run", "--data-plane=nginx"],
        }
    }

    /// Gathers the files; the bill of materials is also beside the archive. Layers that change with each commit are on top.
    pub(super) fn prepare(
        self,
        step: &mut Step,
        work_dir: &WorkDir,
        programs: &Programs,
        debian: &Debian,
        crates: &Crates,
    ) -> Result<Image> {
        let layer = |name: &str| work_dir.create(&format!("{}.{name}", self.name()));
        let (base, below, top) = (layer("base")?, layer("data-plane")?, layer("sluice")?);
        let mut found = debian.fill(step, &BASE, &[], &base)?;
        accounts(&base)?;
        let mut packages = vec!["sluice", "sluice-filter"];
        found.extend(sluice(step, programs, &top)?);
        if let (Recipe::Envoy, Some(envoy)) = (self, &programs.envoy) {
            found.extend(envoy_files(step, envoy, programs, &below)?);
            packages.push("sluice-envoy-module");
        }
        if let (Recipe::Nginx, Some(nginx)) = (self, &programs.nginx) {
            let more = nginx_files(step, debian, nginx, &found, [&below, &top])?;
            found.extend(more);
            packages.push("sluice-nginx-module");
        }
        found.extend(crates.linked_into(step, &packages)?);
        found.sort();
        found.dedup();
        let documents = top.join("usr/share/doc/sluice");
        licences::write(step, &found, &documents)?;
        let bill =
            serde_json::to_string_pretty(&sbom::document(self.name(), programs.arch, &found))?;
        files::write(&documents.join("sbom.cdx.json"), bill + "\n")?;
        let mut layers = vec![base, below, top];
        layers.retain(|folder| {
            folder
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_some())
        });
        layers
            .iter()
            .try_for_each(|folder| files::set_modes(folder))?;
        shared_tmp(&layers[0])?;
        Ok(Image {
            name: self.name(),
            arch: programs.arch,
            created: created(step)?,
            layers,
            config: self.config(step)?,
        })
    }

    fn config(self, step: &mut Step) -> Result<Value> {
        Ok(json!({
            "User": USER,
            "Entrypoint": ["/usr/bin/sluice"],
            "Cmd": self.command(),
            "Env": ["PATH=/usr/sbin:/usr/bin"],
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": format!("sluice/{}", self.name()),
                "org.opencontainers.image.description": self.description(),
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.revision": git(step, &["rev-parse", "HEAD"])?,
            },
        }))
    }
}

fn accounts(base: &Path) -> Result<()> {
    files::write(&base.join("etc/passwd"), PASSWD)?;
    files::write(&base.join("etc/group"), GROUP)?;
    files::write(&base.join("etc/nsswitch.conf"), NAMES)?;
    for folder in ["lib", "lib64"] {
        fs::create_dir_all(base.join("usr").join(folder))?;
        symlink(Path::new("usr").join(folder), base.join(folder))?;
    }
    Ok(fs::create_dir_all(base.join("tmp"))?)
}

/// Everybody's, as ever: run directories are in it where no volume is.
fn shared_tmp(base: &Path) -> Result<()> {
    Ok(fs::set_permissions(
        base.join("tmp"),
        Permissions::from_mode(0o1777),
    )?)
}

/// The controller, which carries the filter for Envoy.
fn sluice(step: &mut Step, programs: &Programs, top: &Path) -> Result<Vec<Part>> {
    let version = env!("CARGO_PKG_VERSION");
    files::copy(&programs.sluice, &top.join("usr/bin/sluice"))?;
    Ok(vec![
        Part::file("sluice", version, digest::sha256(step, &programs.sluice)?),
        Part::file(
            "sluice_filter.wasm",
            version,
            digest::sha256(step, &programs.filter)?,
        ),
    ])
}

/// Envoy as its makers build it, the filter as its module, and the filter for drop-in configurations.
fn envoy_files(
    step: &mut Step,
    envoy: &Envoy,
    programs: &Programs,
    below: &Path,
) -> Result<Vec<Part>> {
    files::copy(&envoy.program, &below.join("usr/lib/sluice/envoy"))?;
    let module = below.join("usr/lib/sluice/libsluice_envoy.so");
    files::copy_data(&envoy.module, &module)?;
    files::copy_data(
        &programs.filter,
        &below.join("usr/share/sluice/sluice_filter.wasm"),
    )?;
    let module = digest::sha256(step, &envoy.module)?;
    Ok(vec![
        Part {
            url: Some(format!("pkg:github/envoyproxy/envoy@v{ENVOY_VERSION}")),
            ..Part::file(
                "envoy",
                ENVOY_VERSION,
                digest::sha256(step, &envoy.program)?,
            )
        },
        Part::file("libsluice_envoy.so", env!("CARGO_PKG_VERSION"), module),
    ])
}

/// The distribution's nginx, which must be the one that our module is built for.
fn nginx_files(
    step: &mut Step,
    debian: &Debian,
    nginx: &Nginx,
    base: &[Part],
    [below, top]: [&Path; 2],
) -> Result<Vec<Part>> {
    let mut found = debian.fill(step, &NGINX, base, below)?;
    let packaged = found.iter().find(|part| part.name == "nginx");
    let packaged = packaged.map_or("", |part| part.version.as_str());
    ensure!(
        packaged.starts_with(&format!("{}-", nginx.version)),
        "the distribution's nginx is {packaged}, the module is built for {}: run `cargo xtask setup`",
        nginx.version
    );
    let version = env!("CARGO_PKG_VERSION");
    for file in [&nginx.module, &nginx.filter] {
        let name = file.file_name().unwrap_or_default();
        files::copy(file, &top.join("usr/lib/sluice").join(name))?;
        found.push(Part::file(
            &name.to_string_lossy(),
            version,
            digest::sha256(step, file)?,
        ));
    }
    Ok(found)
}

/// `SOURCE_DATE_EPOCH`, or the time of the commit.
fn created(step: &mut Step) -> Result<String> {
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => git(step, &["log", "-1", "--format=%ct"])?,
    };
    let mut date = Command::new("date");
    date.args([
        "--utc",
        "--date",
        &format!("@{seconds}"),
        "+%Y-%m-%dT%H:%M:%SZ",
    ]);
    let (status, output) = step.capture(&mut date)?;
    ensure!(status.success(), "SOURCE_DATE_EPOCH={seconds}: {output}");
    Ok(output.trim().to_owned())
}

fn git(step: &mut Step, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let (status, output) = step.capture(git.current_dir(repository()).args(arguments))?;
    ensure!(status.success(), "git {}: {output}", arguments.join(" "));
    Ok(output.trim().to_owned())
}
