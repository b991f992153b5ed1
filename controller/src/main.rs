//! The command line of Sluice. Everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = sluice::Args::of_process();
    match sluice::main(args) {
        Ok(code) => code,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "the one line that says why the program ends")]
            {
                eprintln!("sluice: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}
