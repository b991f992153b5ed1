//! `cargo xtask bench [NAME...]`: measurements on this machine, to be compared with each other, not with another
//! machine's. Everything shares the same cores: load, pods, controller and data plane.
//!
//! ```text
//!   registry --rows--> which to run --> one file for each measured idea --Measured--> target/bench/results.json
//!                                                                            |-----> a table on standard output
//!                                                                            \-----> docs/benchmarks.md (--write)
//! ```

mod admission;
mod applications;
mod at_once;
mod comeback;
mod compile;
mod cpu;
mod docs;
mod endpoint_change;
mod envoy_cpu;
mod external_auth;
mod fleet;
mod machine;
mod native;
mod nginx_change;
mod nginx_cpu;
mod nginx_start;
mod peers;
mod pick;
mod plain;
mod registry;
mod results;
mod route_churn;
mod row;
mod scale;
mod statistics;
mod table;
mod tls_hosts;
mod translate;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::machine::Machine;
use crate::results::Results;

/// Measures on this machine, and keeps the rows in target/bench/results.json.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Args {
    /// Rows to measure: a name, or what several names begin with [default: all].
    names: Vec<String>,
    #[command(flatten)]
    effort: Effort,
    /// Also write the table in docs/benchmarks.md.
    #[arg(long)]
    write: bool,
}

/// How much to measure; less is quicker and less certain.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Effort {
    /// Rounds of each side of a comparison.
    #[arg(long, default_value_t = 11, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a round.
    #[arg(long, default_value_t = 2, value_name = "S", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Samples of whatever is measured one by one.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    samples: u16,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let benches = registry::chosen(&args.names)?;
    let machine = Machine::this()?;
    report(&machine.to_string())?;
    let mut measured = Vec::new();
    for bench in benches {
        let rows = bench
            .run(args.effort)
            .await
            .with_context(|| bench.to_string())?;
        // Kept at once: what comes later may fail, or be interrupted.
        Results::merge_into_file(&rows)?;
        for row in &rows {
            report(&format!("  {row}"))?;
        }
        measured.extend(rows);
    }
    report(&format!("\n{}", table::text(&measured)))?;
    if args.write {
        docs::write(&Results::of_file()?, &machine, &args.names, &measured)?;
    }
    Ok(())
}

/// Writes a line of the report.
fn report(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
