//! Flags of `sluice run` that have an effect under a condition only. One that is given without it is reported, as those of
//! [`super::without_effect`] are.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::{DataPlane, NginxHost, ObjectSource, Run};

/// Condition under which flags have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// Objects come from a cluster.
    Cluster,
    /// The status of Ingresses is written.
    Status,
    /// Leader election.
    Election,
    /// A data plane that is our child.
    Child,
    /// An Envoy that is our child.
    ChildEnvoy,
    /// Envoy, our child or not.
    Envoy,
    /// nginx with a proxy-wasm host.
    Nginx(Option<NginxHost>),
    /// nginx with the filter as wasm, in Sluice's module.
    NginxWasm,
    /// Whatever loads the filter as wasm.
    Wasm,
    /// Data planes that run elsewhere.
    Remote,
    /// Requests are counted.
    Metrics,
    /// The validating webhook.
    Webhook,
    Never,
}

/// By the id of the flag. The others always have one.
#[rustfmt::skip]
const CONDITIONS: &[(&str, Condition)] = &[
    ("watch_namespace_selector", Condition::Cluster),
    ("pod_weights", Condition::Cluster),
    ("update_status", Condition::Cluster),
    ("update_status_on_shutdown", Condition::Status),
    ("status_update_interval", Condition::Status),
    ("publish_status_address", Condition::Status),
    ("publish_pods", Condition::Status),
    ("report_node_internal_ip_address", Condition::Status),
    ("election_id", Condition::Election),
    ("election_ttl", Condition::Election),
    ("disable_leader_election", Condition::Cluster),
    ("disable_sync_events", Condition::Cluster),
    ("envoy_binary", Condition::ChildEnvoy),
    ("envoy_concurrency", Condition::ChildEnvoy),
    ("zone", Condition::Child),
    ("max_failed_starts", Condition::Child),
    ("nginx_host", Condition::Nginx(None)),
    ("nginx_binary", Condition::Nginx(None)),
    ("nginx_module", Condition::Nginx(None)),
    ("nginx_filter", Condition::Nginx(Some(NginxHost::Sluice))),
    ("filter_cwasm", Condition::NginxWasm),
    ("nginx_host_table", Condition::Nginx(Some(NginxHost::Sluice))),
    ("nginx_workers", Condition::Nginx(None)),
    ("filter_wasm", Condition::Wasm),
    ("envoy_filter", Condition::ChildEnvoy),
    ("envoy_module", Condition::ChildEnvoy),
    ("scopes_from", Condition::Envoy),
    ("native_balancing", Condition::Envoy),
    ("xds_address", Condition::Remote),
    ("xds_plaintext", Condition::Remote),
    ("xds_certificates", Condition::Remote),
    ("status_port", Condition::Never),
    ("metrics_per_host", Condition::Metrics),
    ("report_status_classes", Condition::Metrics),
    ("exclude_socket_metrics", Condition::Metrics),
    ("time_buckets", Condition::Metrics),
    ("length_buckets", Condition::Metrics),
    ("size_buckets", Condition::Metrics),
    ("validating_webhook_certificate", Condition::Webhook),
    ("validating_webhook_key", Condition::Webhook),
    ("deep_inspect", Condition::Webhook),
    ("drain_timeout", Condition::Child),
];

/// Flags that were given without effect, each with its reason; `in_cluster`: this runs in a pod.
pub(super) fn given(matches: &ArgMatches, run: &Run, in_cluster: bool) -> Vec<String> {
    let Some(matches) = matches.subcommand_matches("run") else {
        return Vec::new();
    };
    // Where the source cannot be told, nothing starts.
    let is_cluster = !matches!(run.source.origin(in_cluster), Ok(ObjectSource::Files(_)));
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut given: Vec<String> = CONDITIONS
        .iter()
        .filter(|(id, _)| is_given(id))
        .filter_map(|(id, condition)| {
            let reason = condition.missing(run, is_cluster)?;
            Some(format!(
                "--{} has no effect: {reason}",
                id.replace('_', "-")
            ))
        })
        .collect();
    // Of manifests, its addresses are still ours.
    if is_given("publish_service")
        && let Some(reason) = Condition::Status.missing(run, is_cluster)
    {
        given.push(format!("--publish-service publishes nothing: {reason}"));
    }
    given
}

impl Condition {
    /// Missing requirement of an effect, if there is one.
    fn missing(self, run: &Run, is_cluster: bool) -> Option<&'static str> {
        let plane = run.data_plane;
        let (holds, reason) = match self {
            Condition::Cluster => (
                is_cluster,
                "objects come from manifests, not from a cluster",
            ),
            Condition::Status if is_cluster && !run.cluster.update_status => {
                (false, "no status is written with --update-status=false")
            }
            Condition::Status | Condition::Election if is_cluster => (
                !run.cluster.disable_leader_election,
                "there is no election, and no status is written, with --disable-leader-election",
            ),
            Condition::Status | Condition::Election => {
                return Condition::Cluster.missing(run, is_cluster);
            }
            Condition::Child => (
                plane != DataPlane::None,
                "no data plane is started with --data-plane none",
            ),
            Condition::ChildEnvoy => (plane == DataPlane::Envoy, "only with --data-plane envoy"),
            Condition::Envoy => (
                plane != DataPlane::Nginx,
                "only with --data-plane envoy or none",
            ),
            Condition::Nginx(_) if plane != DataPlane::Nginx => {
                (false, "only with --data-plane nginx")
            }
            Condition::Nginx(host) => (
                host.is_none_or(|host| host == run.nginx.nginx_host),
                "only with --nginx-host sluice",
            ),
            Condition::NginxWasm => (
                plane == DataPlane::Nginx && run.nginx.takes_compiled_wasm(),
                "only with --data-plane nginx and --nginx-filter wasm",
            ),
            Condition::Wasm => (
                plane != DataPlane::Nginx || run.nginx.nginx_host == NginxHost::Kong,
                "nginx takes --filter-cwasm with --nginx-filter wasm, except with --nginx-host kong",
            ),
            Condition::Remote => (
                plane == DataPlane::None,
                "data planes of this machine connect by controller.sock; only with --data-plane none",
            ),
            Condition::Metrics => (
                run.metrics.enable_metrics,
                "requests are counted with --enable-metrics only",
            ),
            Condition::Webhook => (
                run.webhook.validating_webhook.is_some(),
                "only with --validating-webhook",
            ),
            Condition::Never => (
                false,
                "its endpoints are on --admin-socket, out of reach of upstreams",
            ),
        };
        (!holds).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, CommandFactory};

    use super::*;
    use crate::args::{Args, Command};

    /// Flags that have an effect with every source and every data plane.
    const ALWAYS: &str = "source manifests kubeconfig context apiserver_host certificate_authority publish_service \
        ingress_class controller_class ingress_class_by_name watch_ingress_without_class annotations_prefix configmap \
        tcp_services_configmap udp_services_configmap watch_namespace default_backend_service default_ssl_certificate \
        disable_svc_external_name allow_upstream_cidr enable_ssl_passthrough enable_topology_aware_routing \
        allow_hosts_under_foreign_wildcards disable_catch_all http_port https_port bind_address data_plane run_dir \
        dns_server dashboard_port healthz_host healthz_port health_check_path health_check_timeout admin_socket enable_metrics \
        access_log admin_writes validating_webhook shutdown_grace_period post_shutdown_grace_period verbosity \
        log_format help version";

    /// Arguments of a run, with what makes them differ from their defaults.
    const SETTINGS: &[&[&str]] = &[
        &["--manifests=."],
        &["--manifests=.", "--data-plane=nginx"],
        &["--manifests=.", "--data-plane=nginx", "--nginx-host=kong"],
        &["--manifests=.", "--data-plane=none"],
        &["--manifests=.", "--enable-metrics"],
        &["--manifests=.", "--validating-webhook=:1"],
        &["--source=kube"],
        &["--source=kube", "--update-status=false"],
        &["--source=kube", "--disable-leader-election"],
        &["--manifests=.", "--data-plane=nginx", "--nginx-filter=wasm"],
    ];

    fn condition_of(id: &str) -> Option<Condition> {
        let found = CONDITIONS.iter().find(|(known, _)| *known == id);
        found.map(|(_, condition)| *condition)
    }

    fn arguments() -> Vec<Arg> {
        let mut command = Args::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        run.get_arguments().cloned().collect()
    }

    fn value(arg: &Arg) -> String {
        let possible = arg.get_possible_values();
        let default = arg.get_default_values().first();
        let text = possible.first().map(|value| value.get_name().to_owned());
        let text = text.or_else(|| default.map(|value| value.to_string_lossy().into_owned()));
        text.unwrap_or_else(|| match arg.get_id().as_str() {
            "xds_address" => "127.0.0.1:1".to_owned(),
            "envoy_concurrency" | "max_failed_starts" | "nginx_workers" | "status_port" => {
                "1".to_owned()
            }
            "publish_service" => "a/b".to_owned(),
            _ => "a".to_owned(),
        })
    }

    fn without_effect(words: &[&str], flag: &str) -> Vec<String> {
        let words = ["sluice", "run"].iter().chain(words).copied().chain([flag]);
        match Args::parse_from_words(words).unwrap().command {
            Command::Run(run) => run.without_effect,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_flag_of_run_has_a_condition_or_always_has_an_effect() {
        for arg in arguments() {
            let id = arg.get_id().as_str();
            let is_always = ALWAYS.split_whitespace().any(|known| known == id);
            let known = usize::from(is_always) + usize::from(condition_of(id).is_some());
            assert_eq!(
                known, 1,
                "{id}: in CONDITIONS or in ALWAYS, and not in both"
            );
        }
        for (id, _) in CONDITIONS {
            assert!(arguments().iter().any(|arg| arg.get_id() == id), "{id}");
        }
    }

    /// In every setting, exactly the flags whose condition does not hold.
    #[test]
    fn a_flag_without_effect_is_reported_and_no_other() {
        for words in SETTINGS {
            let Command::Run(run) = Args::parse_from_words(["sluice", "run"].iter().chain(*words))
                .unwrap()
                .command
            else {
                panic!("{words:?}");
            };
            assert_eq!(run.without_effect, [] as [String; 0], "{words:?}");
            let is_cluster = words.contains(&"--source=kube");
            for arg in arguments() {
                let Some(condition) = condition_of(arg.get_id().as_str()) else {
                    continue;
                };
                let name = format!("--{}", arg.get_long().unwrap());
                if words.iter().any(|word| word.starts_with(&name)) {
                    continue;
                }
                let told = without_effect(words, &format!("{name}={}", value(&arg)));
                let expected = condition.missing(&run, is_cluster);
                let expected = expected.map(|reason| format!("{name} has no effect: {reason}"));
                assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{words:?}");
            }
        }
    }

    #[test]
    fn flags_that_were_taken_in_silence_are_told() {
        for (words, flag, expected) in [
            (SETTINGS[0], "--xds-address=127.0.0.1:1", true),
            (SETTINGS[0], "--xds-plaintext", true),
            (SETTINGS[0], "--publish-status-address=a", true),
            (SETTINGS[0], "--publish-service=a/b", true),
            (SETTINGS[0], "--nginx-workers=7", true),
            (SETTINGS[0], "--status-port=1", true),
            (SETTINGS[0], "--watch-namespace-selector=a", true),
            (SETTINGS[1], "--nginx-workers=7", false),
            (SETTINGS[1], "--filter-cwasm=a", true),
            (SETTINGS[9], "--filter-cwasm=a", false),
            (SETTINGS[1], "--envoy-concurrency=7", true),
            (SETTINGS[2], "--filter-wasm=a", false),
            (SETTINGS[2], "--filter-cwasm=a", true),
            (SETTINGS[3], "--xds-address=127.0.0.1:1", false),
            (SETTINGS[3], "--drain-timeout=1", true),
            (SETTINGS[4], "--time-buckets=1", false),
            (SETTINGS[5], "--deep-inspect=false", false),
            (SETTINGS[6], "--publish-service=a/b", false),
            (SETTINGS[6], "--watch-namespace-selector=a", false),
            (SETTINGS[7], "--publish-service=a/b", true),
            (SETTINGS[7], "--election-id=a", false),
            (SETTINGS[8], "--election-id=a", true),
        ] {
            let told = without_effect(words, flag);
            assert_eq!(
                told.len(),
                usize::from(expected),
                "{words:?} {flag}: {told:?}"
            );
        }
    }
}
