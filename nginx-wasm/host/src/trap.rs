//! How a call into the guest fails.

use std::fmt;

/// A call into the guest that did not return. The instance is dead from then on: its memory is in no known state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The export that was called, or what was being done.
    pub call: &'static str,
    /// What ended it.
    pub cause: Cause,
    /// The runtime's words.
    pub message: String,
}

/// What ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The module cannot run here: an import or an export has another type, a limit is too low.
    Start,
    /// The guest trapped: a panic, memory that it could not get, an access out of bounds.
    Guest,
    /// It ran longer than `Options::deadline_ticks`.
    Deadline,
    /// It called `proc_exit` with this code.
    Exit(u32),
    /// It was not called: an earlier call had trapped.
    Dead,
}

impl Trap {
    /// The trap that stands for `error`, which wasmtime returned from `call`.
    pub(crate) fn of_call(call: &'static str, error: &wasmtime::Error) -> Self {
        let cause = if let Some(exit) = error.downcast_ref::<Exit>() {
            Cause::Exit(exit.0)
        } else if matches!(error.downcast_ref(), Some(wasmtime::Trap::Interrupt)) {
            Cause::Deadline
        } else {
            Cause::Guest
        };
        // The root alone is one line for a log; around it there is a backtrace of a guest that is stripped.
        Self {
            call,
            cause,
            message: error.root_cause().to_string(),
        }
    }

    pub(crate) fn of_start(call: &'static str, error: &wasmtime::Error) -> Self {
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

/// `proc_exit`, on its way through wasmtime.
#[derive(Debug)]
pub(crate) struct Exit(pub(crate) u32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the guest called proc_exit({})", self.0)
    }
}

impl std::error::Error for Exit {}
