//! The same bytes wherever the sources, those of dependencies and the results of a build are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Names for these places in what is compiled, instead of their paths; and other flags.
pub(crate) fn without_paths(
    command: &mut Command,
    sources: &Path,
    results: &Path,
    more: &[&str],
) -> Result<()> {
    // Of several that a path begins with, compilers take the last.
    let places = [
        (cargo_home()?, "/cargo"),
        (sources.to_owned(), "/sluice"),
        (results.to_owned(), "/sluice/target"),
    ];
    let prefixes: Vec<String> = places
        .iter()
        .map(|(place, name)| format!("{}={name}", place.display()))
        .collect();
    let mut flags: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("--remap-path-prefix={prefix}"))
        .collect();
    flags.extend(more.iter().map(|flag| (*flag).to_owned()));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let flags: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("-ffile-prefix-map={prefix}"))
        .collect();
    // For the C sources of crates.
    command.env("CFLAGS", flags.join(" "));
    Ok(())
}

/// The sources of dependencies are there.
fn cargo_home() -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    home.context("neither CARGO_HOME nor HOME is set")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::ensure;

    use super::*;
    use crate::build::{SMALL_RELOCATIONS, cargo};
    use crate::{repository, target};

    /// The quickest to build of the programs in images; all are built with these flags.
    #[test]
    #[ignore = "two builds from nothing; `cargo test -p xtask -- --ignored` runs it"]
    fn same_sources_elsewhere_give_the_same_bytes() -> Result<()> {
        let place = target().join("reproducible");
        let built = ["one", "another/one"].map(|folder| built_in(&place.join(folder)));
        let [one, other] = built.map(|built| built.context("a build elsewhere"));
        let (one, other) = (one?, other?);
        fs::remove_dir_all(&place)?;
        ensure!(one == other, "two builds of the same sources differ");
        for path in [place, cargo_home()?] {
            let path = path.display().to_string();
            let is_named = one
                .windows(path.len())
                .any(|bytes| bytes == path.as_bytes());
            ensure!(!is_named, "{path} is in what was built");
        }
        Ok(())
    }

    /// The module of Envoy, from a copy of the sources in this folder.
    fn built_in(folder: &Path) -> Result<Vec<u8>> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let sources = folder.join("sources");
        let listed = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(repository())
            .output()?;
        for file in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let copy = sources.join(file);
            copy.parent().map_or(Ok(()), fs::create_dir_all)?;
            // A file may have been deleted and not yet committed.
            if repository().join(file).is_file() {
                fs::copy(repository().join(file), copy)?;
            }
        }
        let results = folder.join("results");
        let mut command = cargo();
        command.args(["build", "--locked", "--offline", "--quiet"]);
        command.args(["-p", "sluice-envoy-module", "--profile", "envoy-module"]);
        command.arg("--target-dir").arg(&results);
        without_paths(&mut command, &sources, &results, &[SMALL_RELOCATIONS])?;
        let status = command.current_dir(&sources).status()?;
        ensure!(status.success(), "{command:?}: {status}");
        Ok(fs::read(results.join("envoy-module/libsluice_envoy.so"))?)
    }
}
