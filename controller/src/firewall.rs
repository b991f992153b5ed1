//! `sluice firewall`: the process with ModSecurity's engine, which a controller starts.

use anyhow::Context;
use sluice_firewall::ProcessSettings;

use crate::args::FirewallArgs;
use crate::log;

pub(crate) fn run(args: &FirewallArgs) -> anyhow::Result<()> {
    log::to_stderr("info", args.log_format);
    let settings = ProcessSettings {
        socket: args.socket.clone(),
        library: args.modsecurity_library.clone(),
        audit_log: args.audit_log,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    // Not until the engines' threads are done: one may be busy for long.
    let served = runtime.block_on(sluice_firewall::serve(&settings));
    runtime.shutdown_background();
    served
}
