//! Flags of an Envoy that Sluice runs: as the controller's child, or beside a controller elsewhere.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};
use sluice_kube::is_in_cluster;
use sluice_xds::SCOPES_FROM;

use super::{ConnectAddress, seconds};

/// The process.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Data plane")]
pub(crate) struct Child {
    /// Envoy binary [default: `envoy` in PATH].
    #[arg(long, env = "ENVOY_BINARY", value_name = "PATH")]
    pub(crate) envoy_binary: Option<PathBuf>,
    /// Worker threads of Envoy [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) envoy_concurrency: Option<u32>,
    /// Form of the filter in Envoy.
    #[arg(long, env = "SLUICE_ENVOY_FILTER", value_enum, default_value_t = EnvoyFilter::Auto, value_name = "FORM")]
    pub(crate) envoy_filter: EnvoyFilter,
    /// Filter as a module of Envoy [default: `libsluice_envoy.so` in `../lib/sluice` or beside this program].
    #[arg(long, env = "SLUICE_ENVOY_MODULE", value_name = "PATH")]
    pub(crate) envoy_module: Option<PathBuf>,
    /// Zone of the data plane, for `sluice.dev/zone-preference` [default: none].
    #[arg(long, env = "SLUICE_ZONE", value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Directory for sockets and the bootstrap, not writable by others. In a shared directory a subdirectory is created
    /// [default: a temporary directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Exit after this many consecutive failed starts of the data plane, so that the pod is restarted; 0 for no limit
    /// [default: 10 in a cluster, otherwise 0].
    #[arg(long, value_name = "N")]
    pub(crate) max_failed_starts: Option<u32>,
}

impl Child {
    /// A pod whose node has no zone gives an empty one.
    pub(crate) fn zone(&self) -> Option<String> {
        self.zone.clone().filter(|zone| !zone.is_empty())
    }

    /// `None`: there is no limit.
    pub(crate) fn max_failed_starts(&self) -> Option<NonZeroU32> {
        let usual = if is_in_cluster() { 10 } else { 0 };
        NonZeroU32::new(self.max_failed_starts.unwrap_or(usual))
    }
}

/// Routes and balancing, in any Envoy.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Data plane")]
pub(crate) struct Routes {
    /// Give each host its own route scope (SRDS) from this many hosts on. Updates then cost what changed, and each request 3 us
    /// more. 0: always.
    #[arg(long, env = "SLUICE_SCOPES_FROM", value_name = "HOSTS", default_value_t = SCOPES_FROM)]
    pub(crate) scopes_from: usize,
    /// Let Envoy balance by itself, at less CPU, where it balances as the filter does.
    #[arg(long, env = "SLUICE_NATIVE_BALANCING", value_enum, default_value_t = NativeBalancing::Auto, value_name = "MODE")]
    pub(crate) native_balancing: NativeBalancing,
}

/// Forms of the filter in Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvoyFilter {
    /// The module where it is installed and Envoy is of its version, otherwise wasm.
    Auto,
    /// A dynamic module: about a third of the CPU time that wasm adds to a request, without a sandbox.
    Module,
    /// WebAssembly.
    Wasm,
}

/// Forms of the filter in an Envoy that somebody else starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterForm {
    /// A dynamic module: libsluice_envoy.so in a folder that Envoy's environment names as ENVOY_DYNAMIC_MODULES_SEARCH_PATH.
    Module,
    /// WebAssembly.
    Wasm,
}

impl From<FilterForm> for sluice_xds::FilterForm {
    fn from(form: FilterForm) -> Self {
        match form {
            FilterForm::Module => sluice_xds::FilterForm::Module,
            FilterForm::Wasm => sluice_xds::FilterForm::Wasm,
        }
    }
}

/// Routes that Envoy balances by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NativeBalancing {
    /// Envoy balances routes with round_robin or least_conn that need no session, canary or limit (docs/balancing.md).
    Auto,
    /// The filter balances every route.
    Off,
}

/// How it ends.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Shutdown")]
pub(crate) struct Shutdown {
    /// Seconds to keep serving after SIGTERM, before draining.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub(crate) shutdown_grace_period: u64,
    /// Drain timeout: longest wait for open requests, in seconds.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) drain_timeout: Duration,
    /// Seconds to wait after the data plane has ended, so that last metrics and logs can be read [default: 10 in a cluster, otherwise 0].
    #[arg(long, value_name = "SECONDS")]
    post_shutdown_grace_period: Option<u64>,
}

impl Shutdown {
    pub(crate) fn post_shutdown_grace_period(&self) -> Duration {
        let usual = if is_in_cluster() { 10 } else { 0 };
        Duration::from_secs(self.post_shutdown_grace_period.unwrap_or(usual))
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunEnvoy {
    /// Address of the controller's xDS server and of the filter's log.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) xds_address: HostPort,
    /// Directory with this data plane's certificate (`tls.crt`, `tls.key`) and the CA of the controller (`ca.crt`), reloaded on
    /// change [default: no TLS, which the controller offers with --xds-plaintext only].
    #[arg(long, value_name = "DIR")]
    pub(crate) xds_certificates: Option<PathBuf>,
    /// Name that the controller's certificate must have [default: the host of --xds-address].
    #[arg(long, value_name = "NAME")]
    pub(crate) xds_server_name: Option<String>,
    /// Node id.
    #[arg(long, env = "POD_NAME", default_value = "envoy")]
    pub(crate) node_id: String,
    #[command(flatten)]
    pub(crate) child: Child,
    /// Address for `/healthz`, `/readyz` and `/metrics` [default: all interfaces].
    #[arg(long, value_name = "IP", help_heading = "Health and metrics")]
    pub(crate) healthz_host: Option<IpAddr>,
    /// Port for `/healthz`, `/readyz` and `/metrics`.
    #[arg(
        long,
        default_value_t = 10254,
        value_name = "PORT",
        help_heading = "Health and metrics"
    )]
    pub(crate) healthz_port: u16,
    /// `spec.controller` of the classes that the controller serves: the label `controller_class` of metrics.
    #[arg(
        long,
        default_value = "k8s.io/ingress-nginx",
        value_name = "NAME",
        help_heading = "Health and metrics"
    )]
    pub(crate) controller_class: String,
    #[command(flatten)]
    pub(crate) shutdown: Shutdown,
    #[command(flatten)]
    pub(crate) log: super::LogFlags,
}

/// A name or an IP (IPv6 in brackets), and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected HOST:PORT".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let bracketed = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bracketed.unwrap_or(host);
        if host.is_empty() || (host.contains(':') && bracketed.is_none()) {
            return Err(expected());
        }
        let port = port.parse().map_err(|_| expected())?;
        Ok(HostPort {
            host: host.to_owned(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_ip() {
        let parsed = |text: &str| text.parse::<HostPort>().map(|at| (at.host, at.port));
        assert_eq!(
            parsed("sluice.example:18000"),
            Ok(("sluice.example".to_owned(), 18000))
        );
        assert_eq!(parsed("127.0.0.1:1"), Ok(("127.0.0.1".to_owned(), 1)));
        assert_eq!(parsed("[::1]:1"), Ok(("::1".to_owned(), 1)));
        for bad in ["", "sluice", ":1", "::1:1", "a:b", "a:70000", "[]:1"] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Bootstrap {
    /// Address of the controller's xDS server.
    #[arg(
        long,
        default_value = "unix:/run/sluice/controller.sock",
        value_name = "unix:PATH|HOST:PORT"
    )]
    pub(crate) xds_address: ConnectAddress,
    /// Directory with the Envoy's certificate (`tls.crt`, `tls.key`) and the CA of the controller (`ca.crt`), for HOST:PORT.
    /// Envoy reads them through files in sds/ beside --admin-socket.
    #[arg(long, value_name = "DIR")]
    pub(crate) xds_certificates: Option<PathBuf>,
    /// Name that the controller's certificate must have [default: the host of --xds-address].
    #[arg(long, value_name = "NAME")]
    pub(crate) xds_server_name: Option<String>,
    /// The controller serves without TLS (its own --xds-plaintext).
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) xds_plaintext: bool,
    /// Unix socket for Envoy's admin interface.
    #[arg(long, value_name = "PATH")]
    pub(crate) admin_socket: PathBuf,
    /// `node.id`.
    #[arg(long, default_value = "envoy")]
    pub(crate) node_id: String,
    /// `node.locality.zone` of this Envoy.
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Form of the filter in Envoy.
    #[arg(long, value_enum, default_value_t = FilterForm::Wasm, value_name = "FORM")]
    pub(crate) envoy_filter: FilterForm,
}
