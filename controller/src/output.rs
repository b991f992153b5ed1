//! The standard output of a command, and what it means when it cannot be written. As with coreutils:
//!
//! | the reader | message | exit code |
//! |---|---|---|
//! | is gone (`\| head -1`) | none | 141: that of a process which SIGPIPE has ended |
//! | takes no more (a full disk) | `sluice: write error: ...` | 1 |

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::log::complain;

/// Exit code that a shell shows for a process that SIGPIPE (13) has ended.
const BROKEN_PIPE: u8 = 128 + 13;

/// Why the output of a command is not complete.
#[derive(Debug)]
pub(crate) struct WriteError(io::Error);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write error: {}", self.0)
    }
}

impl std::error::Error for WriteError {}

/// Writes all of a command's output.
pub(crate) fn print(text: &str) -> Result<(), WriteError> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(WriteError)
}

/// Says why the program ends.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref() {
        Some(WriteError(error)) if error.kind() == ErrorKind::BrokenPipe => {
            ExitCode::from(BROKEN_PIPE)
        }
        _ => {
            complain(&format!("sluice: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Answers a command line that asks for help, or is wrong.
pub(crate) fn answer(error: &clap::Error) -> anyhow::Result<ExitCode> {
    let text = error.render().to_string();
    if error.use_stderr() {
        complain(&text);
    } else {
        print(&text)?;
    }
    Ok(u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from))
}
