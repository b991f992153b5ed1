//! Compilation of wasm, for the tests and for `sluice-compile`.

use wasmtime::{Engine, Module, Result};

use crate::engine_config;

/// Compiles a module with [`engine_config`], in an engine of its own.
///
/// # Errors
///
/// The bytes are not a valid module, or use a wasm feature that is off.
pub fn compile(wasm: &[u8]) -> Result<Module> {
    Module::new(&Engine::new(&engine_config())?, wasm)
}
