//! Compilation of wasm, for the tests and for `sluice-compile`.

use wasmtime::{Engine, Module, Result};

use crate::{engine_config, metered_config};

/// Compiles a module with [`engine_config`], in an engine of its own.
///
/// # Errors
///
/// The bytes are not a valid module, or use a wasm feature that is off.
pub fn compile(wasm: &[u8]) -> Result<Module> {
    Module::new(&Engine::new(&engine_config())?, wasm)
}

/// Native code of a module for an engine that counts its instructions, with [`metered_config`].
///
/// # Errors
///
/// Those of [`compile`].
pub fn compile_metered(wasm: &[u8]) -> Result<Vec<u8>> {
    Engine::new(&metered_config())?.precompile_module(wasm)
}

/// Native code of a module that each processor of a target runs, `x86_64-unknown-linux-gnu` for example: [`compile`]'s needs one with
/// the features of this machine's. For other machines than this one's kind it needs wasmtime's feature `all-arch`.
///
/// # Errors
///
/// Those of [`compile`], and there is no such target.
pub fn compile_for(target: &str, wasm: &[u8]) -> Result<Vec<u8>> {
    let mut config = engine_config();
    config.target(target)?;
    Engine::new(&config)?.precompile_module(wasm)
}
