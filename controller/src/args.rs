//! The command line. Flags that ingress-nginx has keep their names, their meaning and their defaults.

mod certgen;
mod check;
mod cluster;
mod compare;
mod conditional;
mod data_plane;
mod dbg;
mod environment;
mod envoy;
mod kubectl;
mod log;
mod most_used;
mod names;
mod nginx;
mod pflag;
mod tools;
mod unsupported_flags;
mod without_effect;
mod xds;

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand};
use sluice_admin::AdminFlags;
use sluice_admission::WebhookFlags;
use sluice_dashboard::DashboardFlags;
use sluice_ir::Cidr;
use sluice_metrics::MetricsFlags;
use sluice_translate::ObjectKey;

pub(crate) use certgen::{Certgen, CertgenCommand, Create, FailurePolicy, SecretPlace, Trust, Xds};
pub(crate) use check::{Check, CheckOutput};
pub(crate) use cluster::{AccessArgs, ClusterArgs, ObjectSource, SourceArgs, SourceKind};
pub(crate) use compare::{Compare, Requests};
pub(crate) use data_plane::DataPlane;
pub(crate) use dbg::{Backends, Certs, Conf, Dbg, DbgCommand, DbgOutput};
pub(crate) use envoy::{
    Bootstrap, Child, EnvoyFilter, NativeBalancing, Routes, RunEnvoy, Shutdown,
};
pub(crate) use kubectl::{
    BackendsInPod, CertsInPod, ConfInPod, Exec, InPod, Kubectl, KubectlCommand, Logs,
};
pub(crate) use log::{CertgenLog, LogFlags, LogFormat};
pub(crate) use nginx::{NginxChild, NginxHost, NginxHostTable};
pub(crate) use tools::{
    Colours, Completions, Explain, ExplainOutput, FirewallArgs, Lint, Values, WaitShutdown,
};
pub(crate) use unsupported_flags::{FlagSupport, flag_support};
pub(crate) use xds::{ConnectAddress, ListenAddress};

/// A drop-in replacement for ingress-nginx on Envoy or nginx.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, propagate_version = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Those of this process; an error also when they ask for help.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let args = match kubectl::is_plugin(&words) {
            true => kubectl::parse(words),
            false => Args::parse_from_words(kubectl::with_flags_behind(words)),
        };
        args.map_err(unsupported_flags::explained)
    }

    /// The same from any words.
    pub(crate) fn parse_from_words(
        words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let command = without_effect::accepted(Args::command());
        let mut command = as_ingress_nginx(most_used::first(command));
        let matches = command.try_get_matches_from_mut(words)?;
        let mut args =
            Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        if let Command::Run(run) = &mut args.command {
            run.without_effect = without_effect::given(&matches);
            let others = conditional::given(&matches, run, sluice_kube::is_in_cluster());
            run.without_effect.extend(others);
        }
        Ok(args)
    }
}

/// The command, with variables and values read as ingress-nginx's are.
fn as_ingress_nginx(command: clap::Command) -> clap::Command {
    let variable = |name: &OsStr| std::env::var_os(name);
    pflag::as_pflag(environment::without_empty_variables(command, &variable))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controller against a cluster or a directory of manifests.
    Run(Box<Run>),
    /// Write the translation of a directory of manifests (model, xDS resources, nginx.conf, filter configuration, reports) to
    /// files.
    Render(Render),
    /// Check which Ingresses work unchanged, with differences, or not at all.
    Lint(Lint),
    /// Check an installation, or with --pre a cluster before one, and say what to do.
    Check(Box<Check>),
    /// Explain what becomes of one request: its host, route, policies and backend, and the manifests that say so.
    Explain(Explain),
    /// Ask an old and a new data plane the same requests, and compare their responses: a verdict for each Ingress.
    Compare(Box<Compare>),
    /// Print values of Sluice's Helm chart for a values file of ingress-nginx's; comments name what has no counterpart.
    Values(Values),
    /// Run Envoy for a remote controller; needs no access to the Kubernetes API.
    Envoy(RunEnvoy),
    /// Print a bootstrap for an Envoy that you run yourself and that connects to --xds-address.
    Bootstrap(Bootstrap),
    /// Inspect a running controller.
    Dbg(Dbg),
    /// Plugin of kubectl: find a pod of Sluice, and inspect it; `kubectl sluice` runs it.
    Kubectl(Box<Kubectl>),
    /// Stop the controller of this pod and wait until it has drained, for a preStop hook.
    WaitShutdown(WaitShutdown),
    /// Create the webhook's certificate and register it with the API server; create those of the xDS connection.
    Certgen(Certgen),
    /// Print a shell completion script.
    Completions(Completions),
    /// Web application firewall of a controller, which starts it.
    #[command(hide = true)]
    Firewall(FirewallArgs),
}

/// Flags that select objects and shape their translation.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Translation")]
pub(crate) struct Translation {
    /// Ingress class to serve, by the annotation `kubernetes.io/ingress.class`.
    #[arg(long, default_value = "nginx")]
    pub(crate) ingress_class: String,
    /// `spec.controller` of the IngressClasses to serve.
    #[arg(long, default_value = "k8s.io/ingress-nginx")]
    pub(crate) controller_class: String,
    /// Also serve the IngressClass named --ingress-class, whatever its controller.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) ingress_class_by_name: bool,
    /// Also serve Ingresses without a class.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) watch_ingress_without_class: bool,
    /// Prefix of annotations, a DNS name.
    #[arg(
        long,
        default_value = "nginx.ingress.kubernetes.io",
        value_name = "PREFIX",
        value_parser = names::annotations_prefix
    )]
    pub(crate) annotations_prefix: String,
    /// ConfigMap with the settings of the controller [default: none].
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) configmap: Option<ObjectKey>,
    /// ConfigMap with TCP ports: `9000: NAMESPACE/SERVICE:PORT[:PROXY[:PROXY]]` [default: none].
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) tcp_services_configmap: Option<ObjectKey>,
    /// ConfigMap with UDP ports: `53: NAMESPACE/SERVICE:PORT` [default: none].
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) udp_services_configmap: Option<ObjectKey>,
    /// Namespace to serve [default: all].
    #[arg(long, value_name = "NAMESPACE", value_parser = names::namespace)]
    pub(crate) watch_namespace: Option<String>,
    /// Service (its first port) for requests without a matching Ingress [default: 404].
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) default_backend_service: Option<ObjectKey>,
    /// Secret with the default certificate, for hosts without their own [default: a generated one].
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) default_ssl_certificate: Option<ObjectKey>,
    /// Do not serve Services of type ExternalName.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) disable_svc_external_name: bool,
    /// Allow upstream addresses that are rejected by default: loopback, link-local, multicast, cloud metadata services.
    /// Sluice's own listeners stay rejected. Repeatable.
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub(crate) allow_upstream_cidr: Vec<Cidr>,
    /// Enable the annotation ssl-passthrough: TLS is terminated by the upstream.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) enable_ssl_passthrough: bool,
    /// Send requests to endpoints in the zone of the data plane, unless sluice.dev/zone-preference is off.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) enable_topology_aware_routing: bool,
    /// Serve hosts that are covered by a wildcard host of an older Ingress in another namespace. The wildcard's certificate is
    /// never presented for them.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) allow_hosts_under_foreign_wildcards: bool,
    /// Ignore Ingresses with a default backend.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub(crate) disable_catch_all: bool,
}

pub(super) fn object_key(text: &str) -> Result<ObjectKey, String> {
    ObjectKey::parse(text).ok_or_else(|| "expected NAMESPACE/NAME".to_owned())
}

/// Addresses and ports for clients.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Listeners")]
pub(crate) struct Listeners {
    /// Port for http.
    #[arg(long, default_value_t = 8080)]
    pub(crate) http_port: u16,
    /// Port for https.
    #[arg(long, default_value_t = 8443)]
    pub(crate) https_port: u16,
    /// Address to listen on, or `all`: of IPv4 and, where this machine has it, of IPv6 [default: all; with --data-plane none all of
    /// IPv4].
    #[arg(long, value_name = "IP|all")]
    pub(crate) bind_address: Option<BindAddress>,
}

/// Addresses to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BindAddress {
    All,
    Ip(IpAddr),
}

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(BindAddress::All),
            text => text
                .parse()
                .map(BindAddress::Ip)
                .map_err(|_| "expected an IP address or `all`".to_owned()),
        }
    }
}

impl Listeners {
    /// The same for a machine of which nothing is known: IPv4 alone, unless told otherwise.
    pub(crate) fn anywhere(&self) -> Self {
        let of_ipv4 = BindAddress::Ip(Ipv4Addr::UNSPECIFIED.into());
        Listeners {
            bind_address: Some(self.bind_address.unwrap_or(of_ipv4)),
            ..self.clone()
        }
    }

    /// The addresses of http and of https.
    pub(crate) fn all(&self) -> Vec<SocketAddr> {
        [self.http_port, self.https_port]
            .map(|port| self.on_port(port))
            .concat()
    }

    /// The addresses with a port, at least one.
    pub(crate) fn on_port(&self, port: u16) -> Vec<SocketAddr> {
        let ips = match self.bind_address {
            Some(BindAddress::Ip(ip)) => vec![ip],
            Some(BindAddress::All) | None if has_ipv6() => {
                vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
            }
            Some(BindAddress::All) | None => vec![Ipv4Addr::UNSPECIFIED.into()],
        };
        ips.into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect()
    }
}

/// Linux lists the addresses of all interfaces here, and has no such file without IPv6.
pub(crate) fn has_ipv6() -> bool {
    std::fs::read_to_string("/proc/net/if_inet6").is_ok_and(|list| !list.trim().is_empty())
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    sluice run --manifests DIR --http-port 8080\n  \
    sluice run --manifests DIR --data-plane nginx\n  \
    sluice run --kubeconfig FILE --configmap ingress-nginx/ingress-nginx-controller")]
pub(crate) struct Run {
    /// Flags that were given and have no effect, each with its reason.
    #[arg(skip)]
    pub(crate) without_effect: Vec<String>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
    /// Data plane to drive.
    #[arg(long, value_enum, default_value_t = DataPlane::Envoy, help_heading = "Data plane")]
    pub(crate) data_plane: DataPlane,
    #[command(flatten)]
    pub(crate) child: Child,
    #[command(flatten)]
    pub(crate) nginx: NginxChild,
    /// Filter [default: the one within this program].
    #[arg(
        long,
        env = "SLUICE_FILTER_WASM",
        value_name = "PATH",
        help_heading = "Data plane"
    )]
    pub(crate) filter_wasm: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) routes: Routes,
    /// Address for xDS and the filter's log, with --data-plane none: a unix socket (mode 0600), or an address with
    /// --xds-certificates; without an IP all addresses. The private keys of all hosts are served here [default:
    /// unix:controller.sock in the run directory].
    #[arg(long, value_name = "unix:PATH|[IP]:PORT", help_heading = "Data plane")]
    pub(crate) xds_address: Option<ListenAddress>,
    /// Serve xDS on --xds-address without TLS. Anyone who can connect, also through a proxy, gets the private keys of all
    /// hosts.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", help_heading = "Data plane")]
    pub(crate) xds_plaintext: bool,
    /// DNS server for names of upstreams (ExternalName, auth-url, mirror-target) [default: those in /etc/resolv.conf].
    /// Repeatable.
    #[arg(long, value_name = "IP:PORT", value_delimiter = ',', value_parser = socket_address)]
    pub(crate) dns_server: Vec<SocketAddr>,
    /// Directory with the controller's certificate (`tls.crt`, `tls.key`) and the CA of the data planes (`ca.crt`), reloaded on
    /// change.
    #[arg(long, value_name = "DIR", help_heading = "Data plane")]
    pub(crate) xds_certificates: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) admin: AdminFlags,
    #[command(flatten)]
    pub(crate) dashboard: DashboardFlags,
    #[command(flatten)]
    pub(crate) metrics: MetricsFlags,
    #[command(flatten)]
    pub(crate) webhook: WebhookFlags,
    #[command(flatten)]
    pub(crate) shutdown: Shutdown,
    #[command(flatten)]
    pub(crate) log: LogFlags,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    seconds.map_err(|_| "expected a number of seconds".to_owned())
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected IP:PORT".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Render {
    /// Directory of YAML manifests to read.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: PathBuf,
    /// Output directory; created if missing.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Module that nginx.conf is written for.
    #[arg(long, value_enum, default_value_t = NginxHost::Sluice)]
    pub(crate) nginx_host: NginxHost,
    #[command(flatten)]
    pub(crate) translation: Translation,
    #[command(flatten)]
    pub(crate) listeners: Listeners,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(flags: &[&str], anywhere: bool) -> Vec<String> {
        let words = ["sluice", "run"].iter().chain(flags);
        let Command::Run(run) = Args::parse_from_words(words).unwrap().command else {
            panic!("not `run`")
        };
        let listeners = match anywhere {
            true => run.listeners.anywhere(),
            false => run.listeners,
        };
        let addresses = listeners.on_port(80).into_iter();
        addresses.map(|address| address.to_string()).collect()
    }

    #[test]
    fn ipv6_is_listened_on_where_the_machine_has_it_unless_nothing_is_known_of_the_machine() {
        let mut all = vec!["0.0.0.0:80"];
        all.extend(has_ipv6().then_some("[::]:80"));
        assert_eq!(addresses(&[], false), all);
        assert_eq!(addresses(&[], true), ["0.0.0.0:80"]);
        for anywhere in [false, true] {
            assert_eq!(addresses(&["--bind-address=all"], anywhere), all);
            assert_eq!(addresses(&["--bind-address=::1"], anywhere), ["[::1]:80"]);
        }
        assert!(Args::parse_from_words(["sluice", "run", "--bind-address=any"]).is_err());
    }
}
