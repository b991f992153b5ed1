//! `sluice dbg`: the words of ingress-nginx's `/dbg`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Dbg {
    /// Unix socket of a running controller's admin interface.
    #[arg(
        long,
        env = "SLUICE_ADMIN_SOCKET",
        default_value = "/run/sluice/admin.sock",
        value_name = "PATH",
        global = true
    )]
    pub(crate) admin_socket: PathBuf,
    #[command(subcommand)]
    pub(crate) command: DbgCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbgCommand {
    /// Inspect backends.
    #[command(subcommand)]
    Backends(Backends),
    /// Inspect certificates.
    #[command(subcommand)]
    Certs(Certs),
    /// Print the whole configuration.
    Conf,
    /// Print the URL of the dashboard (--dashboard-port), with its token.
    Dashboard,
    /// Print the general settings.
    General,
    /// Print versions of all xDS resources, responses of Envoys, and NACKs.
    Xds,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Backends {
    /// Print everything about every backend.
    All,
    /// Print the names of the backends.
    List,
    /// Print everything about one backend.
    Get {
        /// Its name, such as default-web-80.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Certs {
    /// Print the certificate chain of a host.
    Get {
        /// The host name; `_` for the default certificate.
        hostname: String,
    },
}
