//! Envoy's log.

use sluice_filter_worker::LogLevel;

/// Writes a line.
pub(crate) fn write(level: LogLevel, line: &str) {
    let level = match level {
        LogLevel::Info => sluice_envoy_abi::LogLevel::Info,
        LogLevel::Warn => sluice_envoy_abi::LogLevel::Warn,
        LogLevel::Error => sluice_envoy_abi::LogLevel::Error,
    };
    sluice_envoy_abi::log(level, line);
}
