//! `sluice-compile [--target TRIPLE] IN.wasm OUT.cwasm`: compiles the filter ahead of time for the nginx module. With `--metered`, for
//! tests that count its instructions.
//!
//! The module has no compiler: it is a tenth of the size without one, and workers start faster. The output fits only the
//! version of wasmtime that both were built with and this kind of processor, or with `--target` all processors of that target; the
//! module refuses anything else when nginx reads its configuration.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};

/// Purpose of the native code.
enum Purpose<'a> {
    /// Serving on this machine.
    Here,
    /// Serving on all processors of a target.
    Target(Cow<'a, str>),
    /// Counting instructions on this machine.
    Metered,
}

fn main() -> Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let (purpose, input, output) = match &arguments[..] {
        [input, output] => (Purpose::Here, input, output),
        [flag, target, input, output] if flag == "--target" => {
            (Purpose::Target(target.to_string_lossy()), input, output)
        }
        [flag, input, output] if flag == "--metered" => (Purpose::Metered, input, output),
        _ => bail!("usage: sluice-compile [--target TRIPLE] IN.wasm OUT.cwasm"),
    };
    let (input, output) = (Path::new(input), Path::new(output));
    let wasm = fs::read(input).with_context(|| format!("read {}", input.display()))?;
    let native = match purpose {
        Purpose::Here => sluice_wasm_host::compile(&wasm).and_then(|module| module.serialize()),
        Purpose::Target(triple) => sluice_wasm_host::compile_for(&triple, &wasm),
        Purpose::Metered => sluice_wasm_host::compile_metered(&wasm),
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
