//! Paths of the programs and files that a data plane needs.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// How a user says where a program is, and how to get it: for error messages.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The flag that takes its path.
    pub flag: &'static str,
    /// The environment variable that does.
    pub variable: &'static str,
    /// How to install it.
    pub install: &'static str,
}

/// Finds a program: the given path, the one that was installed with this program, or its name in PATH.
///
/// # Errors
///
/// There is no such file.
pub fn find_program(given: Option<&Path>, program: Program) -> anyhow::Result<PathBuf> {
    let Program {
        name,
        flag,
        variable,
        install,
    } = program;
    let advice = format!("{install}, or set {flag} or {variable}");
    match given {
        Some(path) if path.is_file() => Ok(path.to_owned()),
        Some(path) => bail!("{flag} {}: no such file; {advice}", path.display()),
        None => {
            let path = env::var_os("PATH").unwrap_or_default();
            let in_path = env::split_paths(&path).map(|directory| directory.join(name));
            let mut found = find_installed(name).into_iter().chain(in_path);
            found
                .find(|path| path.is_file())
                .with_context(|| format!("no {name} in PATH: {advice}"))
        }
    }
}

/// Finds a file that is installed with this program: the given path, `../lib/sluice`, or beside the executable. The result is
/// absolute, because data planes have working directories of their own.
///
/// # Errors
///
/// There is no such file: the error says where it was looked for, and that the command `install` puts it there.
pub fn installed_file(
    given: Option<&Path>,
    name: &str,
    flag: &str,
    install: &str,
) -> anyhow::Result<PathBuf> {
    let path = match given {
        Some(path) if path.is_file() => path.to_owned(),
        Some(path) => bail!("{flag} {}: no such file", path.display()),
        None => find_installed(name).with_context(|| {
            let folders = install_folders().into_iter().flatten();
            let folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
            let folders = folders.join(" or ");
            format!("no {name} in {folders}: `{install}` puts it there, or set {flag}")
        })?,
    };
    std::path::absolute(&path).with_context(|| path.display().to_string())
}

/// A file that is installed with this program, if it is.
#[must_use]
pub fn find_installed(name: &str) -> Option<PathBuf> {
    let folders = install_folders()?.into_iter();
    folders
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// `bin/sluice` has its files in `lib/sluice`; in an image, and in a build, they are beside it.
fn install_folders() -> Option<[PathBuf; 2]> {
    let executable = env::current_exe().ok()?;
    let folder = executable.parent()?;
    Some([folder.join("../lib/sluice"), folder.to_owned()])
}
