//! `sluice dbg`: the words of ingress-nginx's `/dbg`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct Dbg {
    /// Port of a running controller's admin interface on 127.0.0.1.
    #[arg(long, default_value_t = 10246, value_name = "PORT", global = true)]
    pub(crate) status_port: u16,
    #[command(subcommand)]
    pub(crate) command: DbgCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbgCommand {
    /// Inspect the backends that requests are sent to.
    #[command(subcommand)]
    Backends(Backends),
    /// Inspect the certificates that hosts present.
    #[command(subcommand)]
    Certs(Certs),
    /// Print the whole configuration.
    Conf,
    /// Print the general settings.
    General,
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
