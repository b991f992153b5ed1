//! podman and runc, which run the images in tests.

use std::path::Path;

use anyhow::{Result, bail};

use super::apt;
use crate::step::Step;

const PACKAGES: [&str; 2] = ["podman", "runc"];

/// Installs both, unless they are there.
pub(crate) fn podman() -> Result<()> {
    let mut step = Step::start("podman and runc");
    let is_there = |names: &[&str]| names.iter().any(|name| Path::new(name).is_file());
    if !(is_there(&["/usr/bin/podman"]) && is_there(&["/usr/sbin/runc", "/usr/bin/runc"])) {
        if !apt::is_usable() {
            let packages = PACKAGES.join(" ");
            bail!("tests of the images need them: sudo apt-get install {packages}");
        }
        apt::install(&mut step, &PACKAGES)?;
    }
    step.done();
    Ok(())
}
