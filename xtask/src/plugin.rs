//! `cargo xtask plugin`: `kubectl sluice` for krew: an archive of the program for each architecture, and the manifest that names them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::arch::Arch;
use crate::build;
use crate::setup;
use crate::step::{Step, say};
use crate::work_dir::WorkDir;
use crate::{archive, digest, files, repository, target};

/// The program in an archive; krew's link to it has the same name.
const PROGRAM: &str = "kubectl-sluice";
const LICENCE: &str = "LICENSE";
/// Its place in an index of krew.
const MANIFEST: &str = "plugins/sluice.yaml";
const USAGE: &str =
    "plugin --url URL [--output DIR] [--arch amd64|arm64]... [--program amd64|arm64=PATH]...";

struct Plan {
    /// Of the folder that the archives are going to be in.
    url: String,
    /// Built, unless there is a path.
    programs: Vec<(Arch, Option<PathBuf>)>,
    output: PathBuf,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Plan> {
        let mut plan = Plan {
            url: String::new(),
            programs: Vec::new(),
            output: target().join("plugin"),
        };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            let value = arguments.next().unwrap_or_default();
            match argument {
                "--url" => plan.url = url(value)?,
                "--output" if !value.is_empty() => plan.output = value.into(),
                "--arch" => plan.add(Arch::parse(value)?, None)?,
                "--program" => {
                    let (arch, path) = program(value)?;
                    plan.add(arch, path)?;
                }
                _ => bail!("{USAGE}: {argument} {value}"),
            }
        }
        ensure!(!plan.url.is_empty(), "{USAGE}: --url is missing");
        if plan.programs.is_empty() {
            plan.programs = vec![(Arch::Amd64, None), (Arch::Arm64, None)];
        }
        plan.output = std::path::absolute(&plan.output)?;
        Ok(plan)
    }

    fn add(&mut self, arch: Arch, path: Option<PathBuf>) -> Result<()> {
        let is_known = self.programs.iter().any(|(known, _)| *known == arch);
        ensure!(!is_known, "{USAGE}: {} is named twice", arch.name());
        self.programs.push((arch, path));
        Ok(())
    }
}

/// Without what would end a string of YAML.
fn url(text: &str) -> Result<String> {
    let is_plain = text
        .chars()
        .all(|character| character.is_ascii_graphic() && !"\"\\".contains(character));
    ensure!(
        text.starts_with("https://") && is_plain,
        "--url: expected https://..., got {text:?}"
    );
    Ok(text.trim_end_matches('/').to_owned())
}

fn program(text: &str) -> Result<(Arch, Option<PathBuf>)> {
    let (arch, path) = text
        .split_once('=')
        .with_context(|| format!("--program: expected ARCH=PATH, got {text:?}"))?;
    let path = Path::new(path).canonicalize().context(path.to_owned())?;
    Ok((Arch::parse(arch)?, Some(path)))
}

/// A written archive.
struct Archive {
    arch: Arch,
    name: String,
    sha256: String,
}

/// Builds what is not there, and packs.
pub(crate) fn plugin(arguments: &[String]) -> Result<()> {
    let plan = Plan::parse(arguments)?;
    let work_dir = WorkDir::new()?;
    fs::create_dir_all(&plan.output).with_context(|| plan.output.display().to_string())?;
    let mut archives = Vec::new();
    for (arch, path) in &plan.programs {
        let folder = work_dir.create(arch.name())?;
        match path {
            Some(path) => files::copy(path, &folder.join(PROGRAM))?,
            None => built(*arch, &folder.join(PROGRAM))?,
        }
        archives.push(pack(*arch, &folder, &plan.output)?);
    }
    let manifest = plan.output.join(MANIFEST);
    files::write(&manifest, self::manifest(&plan.url, &archives))?;
    say(&format!("      {}", manifest.display()));
    Ok(())
}

/// As in the images, without symbols.
fn built(arch: Arch, place: &Path) -> Result<()> {
    setup::wasm_target()?;
    if !arch.is_native() {
        setup::cross(arch)?;
    }
    build::filter()?;
    let program = build::shipped_controller(arch)?;
    let mut step = Step::start(&format!("{PROGRAM} without symbols ({})", arch.name()));
    let mut strip = Command::new(arch.tool("strip"));
    step.run(strip.arg("--strip-all").arg("-o").arg(place).arg(program))?;
    step.done();
    Ok(())
}

/// The same bytes for the same program.
fn pack(arch: Arch, folder: &Path, output: &Path) -> Result<Archive> {
    files::copy(&repository().join(LICENCE), &folder.join(LICENCE))?;
    files::set_modes(folder)?;
    let tar = output.join(format!(
        "{PROGRAM}-v{}-linux-{}.tar",
        version(),
        arch.name()
    ));
    let mut step = Step::start(&format!("{PROGRAM} ({})", arch.name()));
    archive::pack(&mut step, folder, &tar)?;
    step.run(
        Command::new("gzip")
            .args(["--no-name", "--force"])
            .arg(&tar),
    )?;
    let archive = tar.with_extension("tar.gz");
    let sha256 = digest::sha256(&mut step, &archive)?;
    step.done();
    let name = archive.file_name().context("an archive without a name")?;
    Ok(Archive {
        arch,
        name: name.to_string_lossy().into_owned(),
        sha256,
    })
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// <https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/>
fn manifest(url: &str, archives: &[Archive]) -> String {
    let mut text = format!(
        "\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: sluice
spec:
  version: v{}
  shortDescription: Inspect Sluice, a drop-in for ingress-nginx
  description: |
    Finds a pod of Sluice and inspects it, with the commands of the plugin
    of ingress-nginx: backends, certs, conf, general, info, ingresses,
    lint, logs, exec and ssh; and checks an installation.
  platforms:
",
        version()
    );
    for Archive { arch, name, sha256 } in archives {
        let arch = arch.name();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "  \
  - selector:
      matchLabels:
        os: linux
        arch: {arch}
    uri: \"{url}/{name}\"
    sha256: {sha256}
    files:
    - from: {PROGRAM}
      to: .
    - from: {LICENCE}
      to: .
    bin: {PROGRAM}
"
        );
    }
    text
}
