//! Commands beside those that serve.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use clap_complete::Shell;
use sluice_lint::{FailOn, Output};

use super::{Listeners, LogFormat, SourceArgs, Translation};

/// Use of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colours {
    /// In a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Colours {
    /// True if standard output gets them.
    pub(crate) fn are_used(self) -> bool {
        let is = |name: &str, wanted: fn(&OsStr) -> bool| {
            std::env::var_os(name).is_some_and(|value| wanted(&value))
        };
        match self {
            Colours::Always => true,
            Colours::Never => false,
            // https://no-color.org
            Colours::Auto => {
                std::io::stdout().is_terminal()
                    && !is("NO_COLOR", |value| !value.is_empty())
                    && !is("TERM", |value| value == "dumb")
            }
        }
    }
}

/// A data plane to check for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckedDataPlane {
    /// Envoy, one of Sluice's own or not.
    #[value(alias = "none")]
    Envoy,
    /// nginx.
    Nginx,
}

impl CheckedDataPlane {
    pub(crate) fn serving(self) -> sluice_translate::DataPlane {
        match self {
            CheckedDataPlane::Envoy => sluice_translate::DataPlane::Envoy,
            CheckedDataPlane::Nginx => sluice_translate::DataPlane::Nginx,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 1 when something is found that --fail-on names, or nothing can be checked; 2 for a wrong command line; \
                        else 0."
)]
pub(crate) struct Lint {
    /// Manifests to check: files, folders, or - for standard input. In a folder, files that are no Kubernetes objects (templates,
    /// values) are notes.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Output,
    /// Fail (exit code 1) if there is something as bad as this.
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    pub(crate) fail_on: FailOn,
    /// Colours of the table.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colours,
    /// Data plane to check for.
    #[arg(long, value_enum, default_value_t = CheckedDataPlane::Envoy)]
    pub(crate) data_plane: CheckedDataPlane,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Nothing is sent. Examples:\n  \
    sluice explain https://shop.example/cart?id=1 --manifests DIR\n  \
    sluice explain shop.example/api -X POST -H 'Cookie: beta=always' --source kube")]
pub(crate) struct Explain {
    /// URL of the request; without a scheme it is http.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Method of the request.
    #[arg(long, short = 'X', default_value = "GET", value_name = "METHOD")]
    pub(crate) request: String,
    /// Header of the request. Repeatable.
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Data plane that serves it, whose differences are named.
    #[arg(long, value_enum, default_value_t = CheckedDataPlane::Envoy)]
    pub(crate) data_plane: CheckedDataPlane,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: ExplainOutput,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
}

/// Format of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainOutput {
    /// Lines for people.
    #[default]
    Text,
    /// JSON.
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Values {
    /// Values file of ingress-nginx's chart [default: standard input].
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
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
    /// Log format.
    #[arg(long, env = LogFormat::VARIABLE, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
}
