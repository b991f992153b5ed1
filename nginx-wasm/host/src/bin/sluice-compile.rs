//! `sluice-compile [--target TRIPLE] IN.wasm OUT.cwasm`: compiles the filter ahead of time for the nginx module.
//!
//! The module has no compiler: it is a tenth of the size without one, and workers start faster. The output fits only the
//! version of wasmtime that both were built with and this kind of processor, or with `--target` all processors of that target; the
//! module refuses anything else when nginx reads its configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};

fn main() -> Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (target, input, output) = match &arguments[..] {
        [input, output] => (None, input, output),
        [flag, target, input, output] if flag == "--target" => (Some(target), input, output),
        _ => bail!("usage: sluice-compile [--target TRIPLE] IN.wasm OUT.cwasm"),
    };
    let (input, output) = (Path::new(input), Path::new(output));
    let wasm = fs::read(input).with_context(|| format!("read {}", input.display()))?;
    let native = match target {
        Some(target) => sluice_wasm_host::compile_for(&target.to_string_lossy(), &wasm),
        None => sluice_wasm_host::compile(&wasm).and_then(|module| module.serialize()),
    };
    let native = native.map_err(|error| anyhow!("compile {}: {error:#}", input.display()))?;
    write_atomically(output, &native).with_context(|| format!("write {}", output.display()))
}

/// Writes a temporary file and renames it: nginx may be reading the old one.
fn write_atomically(output: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut temporary = output.as_os_str().to_owned();
    temporary.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(temporary);
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, output)
}
