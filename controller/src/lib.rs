//! The Sluice controller: wiring, and nothing else.
//!
//! ```text
//!   source (files, kube) --events--> publish --+--> xds Store ---- delta ADS --+
//!                               |        +--> plugin Log --- long poll --+--> serve: one listener --> Envoy
//!                               |                                                                       ^
//!                               +--> reports, one log line each           dataplane: Envoy ------------+
//! ```
//!
//! In a cluster the last arrow crosses machines: `sluice_server` requires a client certificate, and `envoy` supervises there.
//!
//! When to translate, and in which order to publish, is decided in `publish`; the content in `translate`, `plugin`, `xds` and `nginx`.

mod access_log;
mod admin_services;
mod args;
mod certgen;
mod certificate;
mod check;
mod cluster_events;
mod compare;
mod data_plane;
mod dbg;
mod envoy;
mod envoy_filter;
mod explain;
mod filter;
mod firewall;
mod kubectl;
mod lint;
mod log;
mod object_source;
mod options;
mod output;
mod ports;
mod render;
mod run;
mod signals;
mod values;

use std::process::ExitCode;

use args::{Args, Command, Completions, LogFormat};
use clap::CommandFactory;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let ended = match Args::of_process() {
        Ok(args) => run(args),
        Err(error) => {
            log::use_format(LogFormat::of_rejected_process());
            output::answer(&error)
        }
    };
    ended.unwrap_or_else(|error| output::failed(&error))
}

fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(run) => run::run(&run)?,
        Command::Render(render) => render::render(&render)?,
        Command::Lint(lint) => return lint::lint(&lint),
        Command::Check(check) => return check::check(&check),
        Command::Explain(explain) => explain::explain(&explain)?,
        Command::Compare(compare) => return compare::compare(&compare),
        Command::Values(values) => values::values(&values)?,
        Command::Envoy(envoy) => envoy::run(&envoy)?,
        Command::Bootstrap(bootstrap) => render::bootstrap(&bootstrap)?,
        Command::Dbg(dbg) => dbg::dbg(&dbg)?,
        Command::Kubectl(kubectl) => return kubectl::plugin(*kubectl),
        Command::WaitShutdown(wait) => dbg::wait_shutdown(&wait)?,
        Command::Certgen(certgen) => certgen::certgen(&certgen)?,
        Command::Completions(completions) => complete(&completions)?,
        Command::Firewall(firewall) => firewall::run(&firewall)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn complete(args: &Completions) -> anyhow::Result<()> {
    // clap's own writer panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "sluice", &mut script);
    Ok(output::print(&String::from_utf8(script)?)?)
}
