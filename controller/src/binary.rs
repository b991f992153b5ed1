//! Finds the programs that we run.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// As given, or by its name in PATH. `flag` is the one that gives it, `variable` its environment variable.
pub(crate) fn find(
    given: Option<&Path>,
    name: &str,
    flag: &str,
    variable: &str,
) -> anyhow::Result<PathBuf> {
    let advice = format!("install {name}, or name it with {flag} or {variable}");
    match given {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => bail!("{flag} {}: no such file; {advice}", path.display()),
        None => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&folders)
                .map(|folder| folder.join(name))
                .find(|path| path.is_file());
            found.with_context(|| format!("no {name} in PATH; {advice}"))
        }
    }
}

/// A file that comes with us: as given, or beside this program.
pub(crate) fn companion(given: Option<&Path>, name: &str, flag: &str) -> anyhow::Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join(name));
    let path = given
        .map(Path::to_owned)
        .or_else(beside)
        .unwrap_or_default();
    // Data planes read it from wherever they were started.
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
