//! The configuration of the wasmtime engine.

use wasmtime::Config;

/// The configuration for compiling and for loading a module: wasmtime refuses a module that was compiled with
/// another one.
///
/// Epoch interruption is always on, because a filter that loops forever would block a whole nginx worker; it
/// costs 0.2 us per request (measured), and has no effect until the epoch is incremented.
#[must_use]
pub fn engine_config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config
}

/// The same, of an engine that counts the instructions of a VM, for [`crate::Vm::instructions`].
#[must_use]
pub fn metered_config() -> Config {
    let mut config = engine_config();
    config.consume_fuel(true);
    config
}
