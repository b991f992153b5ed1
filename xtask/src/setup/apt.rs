//! Debian's packages.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::step::Step;

/// Returns `true` if packages can be installed without asking anybody.
pub(crate) fn is_usable() -> bool {
    is_root() && Command::new("apt-get").arg("--version").output().is_ok()
}

/// Installs packages.
pub(crate) fn install(step: &mut Step, packages: &[&str]) -> Result<()> {
    update(step)?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    step.run(
        install
            .args(["install", "-qq", "-y", "--no-install-recommends"])
            .args(packages),
    )
}

/// Unpacks a package into a folder: nothing is installed, configured or started, and no root is needed.
pub(crate) fn unpack(step: &mut Step, package: &str, folder: &Path) -> Result<()> {
    let mut download = Command::new("apt-get");
    step.run(
        download
            .current_dir(folder)
            .args(["download", "-qq", package]),
    )?;
    for entry in folder.read_dir()?.flatten() {
        let file = entry.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            step.run(Command::new("dpkg").arg("--extract").arg(file).arg(folder))?;
        }
    }
    Ok(())
}

/// Fetches the lists of packages.
pub(crate) fn update(step: &mut Step) -> Result<()> {
    step.run(Command::new("apt-get").args(["update", "-qq"]))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
