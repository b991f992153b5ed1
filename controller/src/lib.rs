//! The Sluice controller: wiring, and nothing else.
//!
//! ```text
//!   source (files, kube) --events--> publish --+--> xds Store ---- delta ADS --+
//!                               |        +--> plugin Log --- long-poll --+--> serve: one listener --> Envoy
//!                               |                                                                       ^
//!                               +--> reports, one log line each           supervise: Envoy as a child --+
//! ```
//!
//! In a cluster the last arrow crosses machines: `serve` asks for a certificate (`tls`), and `envoy` supervises there.
//!
//! What is decided here: when to translate, in which order to publish, how long to wait. What is served is decided
//! by the crates below: `translate`, `plugin` and `xds`.

mod admin;
mod admission;
mod args;
mod binary;
mod certgen;
mod certificate;
mod cluster;
mod data_plane;
mod dbg;
mod envoy;
mod envoy_admin;
mod exchange;
mod guard;
mod lint;
mod log;
mod metrics;
mod nginx;
mod observers;
mod options;
mod origin;
mod poll;
mod progress;
mod publish;
mod render;
mod reports;
mod restarts;
mod run;
mod serve;
mod source;
mod supervise;
mod tasks;
mod tls;
mod view;

use std::process::ExitCode;

pub use args::Args;

use args::{Command, Completions};
use clap::CommandFactory;

/// Runs one command of the command line.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(run) => run::run(&run)?,
        Command::Render(render) => render::render(&render)?,
        Command::Lint(lint) => return lint::lint(&lint),
        Command::Envoy(envoy) => envoy::run(&envoy)?,
        Command::Bootstrap(bootstrap) => render::bootstrap(&bootstrap)?,
        Command::Dbg(dbg) => dbg::dbg(&dbg)?,
        Command::WaitShutdown(wait) => dbg::wait_shutdown(&wait)?,
        Command::Certgen(certgen) => certgen::certgen(&certgen)?,
        Command::Completions(completions) => complete(&completions),
    }
    Ok(ExitCode::SUCCESS)
}

fn complete(args: &Completions) {
    let mut command = Args::command();
    clap_complete::generate(args.shell, &mut command, "sluice", &mut std::io::stdout());
}
