//! The command line of Sluice. Everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    sluice::main()
}
