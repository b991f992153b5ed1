//! `sluice dbg`: the words of ingress-nginx's `/dbg`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

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
    Conf(Conf),
    /// Print the URL of the dashboard (--dashboard-port), with its token.
    Dashboard,
    /// Print the general settings.
    General,
    /// Print versions of all xDS resources, responses of Envoys, and NACKs.
    Xds,
    /// Print reports: what is not served as written, and why.
    Reports(Form),
    /// Print the paths that each Ingress serves.
    Ingresses(Form),
}

#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct Conf {
    /// Print that of one host; `_` for any other host.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, ClapArgs)]
pub(crate) struct Form {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: DbgOutput,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DbgOutput {
    /// Lines for people.
    #[default]
    Text,
    /// JSON.
    Json,
}

impl DbgCommand {
    /// The words that it is read from.
    pub(crate) fn words(&self) -> Vec<String> {
        let word = |text: &str| vec![text.to_owned()];
        let form = |name: &str, form: Form| match form.output {
            DbgOutput::Text => word(name),
            DbgOutput::Json => vec![name.to_owned(), "--output=json".to_owned()],
        };
        let named = |words: [&str; 2], name: &str| {
            let words = words.into_iter().chain(["--", name]);
            words.map(str::to_owned).collect()
        };
        match self {
            DbgCommand::Backends(Backends::All) => ["backends", "all"].map(str::to_owned).into(),
            DbgCommand::Backends(Backends::List) => ["backends", "list"].map(str::to_owned).into(),
            DbgCommand::Backends(Backends::Get { name }) => named(["backends", "get"], name),
            DbgCommand::Certs(Certs::Get { hostname }) => named(["certs", "get"], hostname),
            DbgCommand::Conf(Conf { host: None }) => word("conf"),
            DbgCommand::Conf(Conf { host: Some(host) }) => {
                vec!["conf".to_owned(), format!("--host={host}")]
            }
            DbgCommand::Dashboard => word("dashboard"),
            DbgCommand::General => word("general"),
            DbgCommand::Xds => word("xds"),
            DbgCommand::Reports(it) => form("reports", *it),
            DbgCommand::Ingresses(it) => form("ingresses", *it),
        }
    }
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
