//! Programs of Debian's packages, as `cargo xtask bench` has unpacked them, or others that variables name.

use std::env;
use std::path::PathBuf;

use sluice_tests::artifacts;

/// A program of a package.
pub(crate) struct Package {
    /// Variable that names another one.
    pub(crate) variable: &'static str,
    /// Path in the package.
    pub(crate) path: &'static str,
}

impl Package {
    /// The program; `None`: this machine does not have it.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        let unpacked = || folder().join(self.path);
        let program = env::var_os(self.variable).map_or_else(unpacked, PathBuf::from);
        program.is_file().then_some(program)
    }
}

/// Shared libraries of the packages.
pub(crate) fn libraries() -> PathBuf {
    let triple = format!("{}-linux-gnu", env::consts::ARCH);
    folder().join("usr/lib").join(triple)
}

fn folder() -> PathBuf {
    artifacts::target().join("peers")
}
