//! `sluice-compile IN.wasm OUT.cwasm`: compiles the filter ahead of time for the nginx module.
//!
//! The module has no compiler: it is a tenth of the size without one, and no worker ever spends time on it. What this
//! writes fits the version of wasmtime that both were built with, and this kind of processor; the module refuses
//! anything else when nginx reads its configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};

fn main() -> Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let [input, output] = &arguments[..] else {
        bail!("usage: sluice-compile IN.wasm OUT.cwasm")
    };
    let (input, output) = (Path::new(input), Path::new(output));
    let wasm = fs::read(input).with_context(|| format!("read {}", input.display()))?;
    let native = sluice_wasm_host::compile(&wasm).and_then(|module| module.serialize());
    let native = native.map_err(|error| anyhow!("compile {}: {error:#}", input.display()))?;
    write_whole(output, &native).with_context(|| format!("write {}", output.display()))
}

/// Beside the final name first: nginx may be reading the old one.
fn write_whole(output: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut fresh = output.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    fs::write(&fresh, bytes)?;
    fs::rename(&fresh, output)
}
