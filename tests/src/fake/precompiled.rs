//! Native code of the filter. To compile it took most of the time of a test: each is a process of its own.

#![expect(
    unsafe_code,
    reason = "native code is loaded, as the nginx module does"
)]

use std::path::Path;

use sluice_wasm_host::wasmtime::{Engine, Module, Result};

/// Loads what `sluice-compile` wrote for an engine of this configuration.
pub(super) fn load(engine: &Engine, file: &Path) -> Result<Module> {
    // SAFETY: the file is this repository's own build, and wasmtime checks that it fits the engine.
    unsafe { Module::deserialize_file(engine, file) }
}
