//! The error log.

use nginx_sys::{ngx_cycle, ngx_log_error_core, ngx_log_t, ngx_uint_t};

/// Severity of a line, as in `error_log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// nginx cannot continue.
    Emerg = 1,
    /// Action is required.
    Alert = 2,
    /// A component does not work.
    Crit = 3,
    /// A request or another operation failed.
    Error = 4,
    /// Unusual.
    Warn = 5,
    /// Normal but significant.
    Notice = 6,
    /// Detail.
    Info = 7,
    /// More detail.
    Debug = 8,
}

/// Writes a line to the log of this process.
pub fn log(level: Level, message: &[u8]) {
    // SAFETY: nginx sets `ngx_cycle` before it reads its configuration and keeps the log of the current cycle alive;
    // the process has one thread that calls this (rule 1).
    unsafe { write(process_log(), level, message) }
}

/// The log of this process.
///
/// # Safety
///
/// On nginx's thread, at or after the reading of the configuration.
pub(crate) unsafe fn process_log() -> *mut ngx_log_t {
    // SAFETY: see above; the caller is on nginx's thread.
    unsafe { (*ngx_cycle).log }
}

/// Writes a line to one log.
///
/// # Safety
///
/// `log` points to a live log.
pub(crate) unsafe fn write(log: *mut ngx_log_t, level: Level, message: &[u8]) {
    // SAFETY: `log` is live by contract. `%*s` of nginx takes a length and a pointer, and reads just those bytes.
    unsafe {
        if (*log).log_level >= level as ngx_uint_t {
            ngx_log_error_core(
                level as ngx_uint_t,
                log,
                0,
                c"%*s".as_ptr(),
                message.len(),
                message.as_ptr(),
            );
        }
    }
}
