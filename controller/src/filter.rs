//! The filter: within this program, unless a flag names another.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use flate2::read::ZlibDecoder;
use sha2::{Digest, Sha256};
use sluice_dataplane::private_file;

/// Compressed by build.rs. Absent in a program that was built before the filter was.
const EMBEDDED: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/embedded_filter.rs"));

/// Its code.
pub(crate) fn code(given: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    match given {
        Some(path) => fs::read(path).with_context(|| format!("--filter-wasm {}", path.display())),
        None => embedded(),
    }
}

/// A file with it, for a data plane on this machine; the embedded one is written into `folder`. The path is absolute, because
/// data planes have working directories of their own.
pub(crate) fn file(given: Option<&Path>, folder: &Path) -> anyhow::Result<PathBuf> {
    let path = match given {
        Some(path) if path.is_file() => path.to_owned(),
        Some(path) => bail!("--filter-wasm {}: no such file", path.display()),
        None => write(&embedded()?, folder)?,
    };
    std::path::absolute(&path).with_context(|| path.display().to_string())
}

/// The name says what is in it: a data plane that outlives an upgrade of this program loads the new one.
fn write(filter: &[u8], folder: &Path) -> anyhow::Result<PathBuf> {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(filter));
    let name = format!(
        "sluice_filter-{:08x}.wasm",
        u32::from_be_bytes([a, b, c, d])
    );
    private_file::replace(folder, &name, filter)
        .with_context(|| folder.join(&name).display().to_string())?;
    Ok(folder.join(name))
}

fn embedded() -> anyhow::Result<Vec<u8>> {
    let compressed = EMBEDDED.context(
        "this program was built without the filter: build it with `cargo xtask install`, or set --filter-wasm",
    )?;
    let mut filter = Vec::new();
    ZlibDecoder::new(compressed)
        .read_to_end(&mut filter)
        .context("the filter in this program")?;
    Ok(filter)
}
