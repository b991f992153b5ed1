//! Failures of calls into the guest.

use std::fmt;

/// A call into the guest that did not return. The instance is dead from then on: the state of its memory is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The export that was called, or the operation that failed.
    pub call: &'static str,
    /// Cause of the trap.
    pub cause: Cause,
    /// Message of the runtime.
    pub message: String,
}

/// Cause of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The module cannot be instantiated: an import or an export has another type, or a limit is too low.
    Start,
    /// The guest trapped: a panic, a failed allocation, an access out of bounds.
    Guest,
    /// It ran longer than `Options::deadline_ticks`.
    Deadline,
    /// It called `proc_exit` with this code.
    Exit(u32),
    /// The guest was not called, because an earlier call trapped.
    Dead,
}

impl Trap {
    /// Converts the error that wasmtime returned from `call`.
    pub(crate) fn from_call(call: &'static str, error: &wasmtime::Error) -> Self {
        let cause = if let Some(exit) = error.downcast_ref::<Exit>() {
            Cause::Exit(exit.0)
        } else if matches!(error.downcast_ref(), Some(wasmtime::Trap::Interrupt)) {
            Cause::Deadline
        } else {
            Cause::Guest
        };
        // The root cause is one line for a log; the rest is a backtrace of a stripped guest.
        Self {
            call,
            cause,
            message: error.root_cause().to_string(),
        }
    }

    pub(crate) fn from_start(call: &'static str, error: &wasmtime::Error) -> Self {
        Self {
            call,
            cause: Cause::Start,
            message: format!("{error:#}"),
        }
    }

    pub(crate) fn dead(call: &'static str) -> Self {
        Self {
            call,
            cause: Cause::Dead,
            message: "the instance trapped earlier".to_owned(),
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.message)
    }
}

impl std::error::Error for Trap {}

/// Error of `proc_exit`, carried through wasmtime.
#[derive(Debug)]
pub(crate) struct Exit(pub(crate) u32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest called proc_exit({})", self.0)
    }
}

impl std::error::Error for Exit {}
