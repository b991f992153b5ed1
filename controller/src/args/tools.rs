//! Commands beside those that serve.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;
use sluice_lint::Output;

use super::{DataPlane, Listeners, SourceArgs, Translation};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 when every Ingress works, unchanged or with differences; 1 when one does not work \
                        at all, a setting of the operator does not work, or a document cannot be read; 2 for a wrong command line."
)]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Data plane to check for.
    #[arg(long, value_enum, default_value_t = DataPlane::Envoy)]
    pub(crate) data_plane: DataPlane,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WaitShutdown {
    /// The controller's admin socket.
    #[arg(
        long,
        env = "SLUICE_ADMIN_SOCKET",
        default_value = "/run/sluice/admin.sock",
        value_name = "PATH"
    )]
    pub(crate) admin_socket: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// The shell to complete for.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FirewallArgs {
    /// Unix socket to listen on.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: PathBuf,
    /// Library of ModSecurity.
    #[arg(long, env = "MODSECURITY_LIBRARY", value_name = "PATH", default_value = sluice_firewall::LIBRARY)]
    pub(crate) modsecurity_library: PathBuf,
    /// Write the audit log to standard output.
    #[arg(long)]
    pub(crate) audit_log: bool,
}
