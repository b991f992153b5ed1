//! `cargo xtask bench [NAME...]`: measurements on this machine, to be compared with each other, not with another
//! machine's. Everything shares the same cores: load, pods and Envoy.

mod change;
mod native;
mod throughput;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, ensure};

const NAMES: [&str; 2] = ["throughput", "change"];

#[tokio::main]
async fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    match run(&names).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(names: &[String]) -> Result<()> {
    for name in names {
        ensure!(NAMES.contains(&name.as_str()), "there is no bench {name:?}; there are {}", NAMES.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    if wanted("throughput") {
        throughput::run().await?;
    }
    if wanted("change") {
        change::run().await?;
    }
    Ok(())
}

/// Writes a line of the report.
fn report(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
