//! Envoy's log.

use std::ffi::c_uint;

use crate::callbacks;

/// Importance of a line in Envoy's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// `info`
    Info = 2,
    /// `warning`
    Warn = 3,
    /// `error`
    Error = 4,
}

/// Writes a line to Envoy's log.
pub fn log(level: LogLevel, message: &str) {
    // SAFETY: the message outlives the call; Envoy copies it.
    unsafe { callbacks::write_log(level as c_uint, message.into()) };
}
