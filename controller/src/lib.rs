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
mod args;
mod binary;
mod certificate;
mod cluster;
mod envoy;
mod log;
mod nginx;
mod options;
mod poll;
mod publish;
mod render;
mod reports;
mod run;
mod serve;
mod source;
mod supervise;
mod tls;

pub use args::Args;

use args::Command;

/// Runs one command of the command line.
pub fn main(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Run(run) => run::run(&run),
        Command::Render(render) => render::render(&render),
        Command::Envoy(envoy) => envoy::run(&envoy),
        Command::Bootstrap(bootstrap) => render::bootstrap(&bootstrap),
    }
}
