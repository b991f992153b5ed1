//! The engine's configuration.

use wasmtime::Config;

/// The one configuration for whoever compiles a module and for whoever loads it: wasmtime refuses a module that was
/// compiled with another one.
///
/// Epoch interruption is always on, because a filter that loops for ever takes a whole nginx worker with it; it
/// costs 0.2 us a request (measured in the spike), and nothing happens until somebody increments the epoch.
#[must_use]
pub fn engine_config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config
}
