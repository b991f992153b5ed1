//! Paths of the programs and files that a data plane needs.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Finds a program: the given path, or its name in PATH.
///
/// `flag` and `variable` are how a user gives the path; error messages name them.
///
/// # Errors
///
/// There is no such file.
pub fn find_program(
    given: Option<&Path>,
    name: &str,
    flag: &str,
    variable: &str,
) -> anyhow::Result<PathBuf> {
    let advice = format!("install {name}, or set {flag} or {variable}");
    match given {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => bail!("{flag} {}: no such file; {advice}", path.display()),
        None => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path)
                .map(|directory| directory.join(name))
                .find(|path| path.is_file());
            found.with_context(|| format!("no {name} in PATH; {advice}"))
        }
    }
}

/// Finds a file that is shipped with this program: the given path, or beside the executable. The result is absolute, because
/// data planes have working directories of their own.
///
/// # Errors
///
/// There is no such file.
pub fn shipped_file(given: Option<&Path>, name: &str, flag: &str) -> anyhow::Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join(name));
    let path = given
        .map(Path::to_owned)
        .or_else(beside)
        .unwrap_or_default();
    std::path::absolute(&path)
        .ok()
        .filter(|path| path.is_file())
        .with_context(|| {
            format!(
                "{flag} {}: no such file; build it with `cargo xtask setup`",
                path.display()
            )
        })
}
