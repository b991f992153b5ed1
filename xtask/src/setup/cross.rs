//! Programs for another processor.

use std::process::Command;

use anyhow::{Result, bail};

use super::{apt, rust_target};
use crate::arch::Arch;
use crate::step::Step;

/// Rust's standard library, GNU's tool chain and the C library's headers.
pub(crate) fn cross(arch: Arch) -> Result<()> {
    rust_target(arch.triple())?;
    let mut step = Step::start(&format!("compilers for {}", arch.name()));
    let compiler = arch.tool("gcc");
    if Command::new(&compiler).arg("--version").output().is_err() {
        let packages = [
            compiler.as_str(),
            &format!("libc6-dev-{}-cross", arch.name()),
        ];
        if !apt::is_usable() {
            bail!(
                "images for {} need them: sudo apt-get install {}",
                arch.name(),
                packages.join(" ")
            );
        }
        apt::install(
            &mut step,
            &[&format!("gcc-{}-linux-gnu", arch.machine()), packages[1]],
        )?;
    }
    step.done();
    Ok(())
}
