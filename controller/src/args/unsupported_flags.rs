//! Flags of ingress-nginx that Sluice does not have and that have an effect there: the error says what to do instead.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Args;

const NOT_SERVED: &str = "not served yet";

/// The flag, and what to do.
#[rustfmt::skip]
const ADVICE: &[(&str, &str)] = &[
    ("enable-ssl-chain-completion", "complete the chains in their Secrets"),
    ("force-namespace-isolation", "use --watch-namespace"),
    ("maxmind-edition-ids", NOT_SERVED),
    ("maxmind-license-key", NOT_SERVED),
    ("maxmind-mirror", NOT_SERVED),
    ("maxmind-retries-count", NOT_SERVED),
    ("maxmind-retries-timeout", NOT_SERVED),
    ("profiler-address", "profiles are at /debug/pprof/profile on --admin-socket; leave it out"),
    ("profiler-port", "profiles are at /debug/pprof/profile on --admin-socket; leave it out"),
    ("sort-backends", "endpoints are always sorted; leave it out"),
];

/// The same error, with advice when it is about one of these flags.
pub(super) fn explained(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && let Some(tip) = tip(flag)
    {
        let tip = StyledStr::from(tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

fn tip(flag: &str) -> Option<String> {
    if !flag.starts_with('-') && Path::new(flag).exists() {
        return Some(format!("manifests are read with --manifests {flag}"));
    }
    if let Some(advice) = advice(flag) {
        return Some(format!("{flag} is a flag of ingress-nginx: {advice}"));
    }
    let command = Args::command();
    let name = flag.trim_start_matches('-');
    let mut of_run = command.find_subcommand("run")?.get_arguments();
    let is_of_run = of_run.any(|argument| argument.get_long() == Some(name));
    is_of_run.then(|| format!("{flag} is a flag of `sluice run`; leave it out here"))
}

/// Support for a flag of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagSupport {
    /// `sluice run` takes it.
    Taken,
    /// ingress-nginx has it; the advice says what to do instead.
    Gone(&'static str),
    /// Nobody has it.
    Unknown,
}

/// The support for a flag, by its name without dashes.
pub(crate) fn flag_support(name: &str) -> FlagSupport {
    match advice(name) {
        Some(advice) => FlagSupport::Gone(advice),
        None if OF_RUN.contains(name) => FlagSupport::Taken,
        None => FlagSupport::Unknown,
    }
}

/// Flags of `sluice run`, those without effect among them: a file asks for thousands, and the command takes long to make.
static OF_RUN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let command = super::without_effect::accepted(Args::command());
    let of_run = command
        .find_subcommand("run")
        .into_iter()
        .flat_map(clap::Command::get_arguments);
    of_run
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
});

fn advice(flag: &str) -> Option<&'static str> {
    let name = flag.trim_start_matches('-');
    ADVICE
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::without_effect;

    /// `nginx-ingress-controller --help` of ingress-nginx 1.15, without klog's.
    const ORIGINAL: &str = "annotations-prefix apiserver-host bucket-factor certificate-authority configmap \
        controller-class deep-inspect default-backend-service default-server-port default-ssl-certificate \
        disable-catch-all disable-full-test disable-leader-election disable-svc-external-name disable-sync-events \
        dynamic-configuration-retries election-id election-ttl enable-annotation-validation enable-metrics \
        enable-ssl-chain-completion enable-ssl-passthrough enable-topology-aware-routing exclude-socket-metrics \
        health-check-path health-check-timeout healthz-host healthz-port http-port https-port ingress-class \
        ingress-class-by-name internal-logger-address kubeconfig length-buckets max-buckets maxmind-edition-ids \
        maxmind-license-key maxmind-mirror maxmind-retries-count maxmind-retries-timeout metrics-per-host \
        metrics-per-undefined-host monitor-max-batch-size post-shutdown-grace-period profiler-address profiler-port \
        profiling publish-service publish-status-address report-node-internal-ip-address report-status-classes \
        shutdown-grace-period size-buckets ssl-passthrough-proxy-port status-port status-update-interval stream-port \
        sync-period sync-rate-limit tcp-services-configmap time-buckets udp-services-configmap update-status \
        update-status-on-shutdown v validating-webhook validating-webhook-certificate validating-webhook-key \
        watch-ingress-without-class watch-namespace watch-namespace-selector";

    #[test]
    fn every_flag_of_ingress_nginx_is_taken_or_explained() {
        let command = Args::command();
        let run = command.find_subcommand("run").unwrap();
        let taken: Vec<&str> = run
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .collect();
        let lost: Vec<&str> = ORIGINAL
            .split_whitespace()
            .filter(|name| !taken.contains(name))
            .filter(|name| advice(name).is_none() && !without_effect::is_accepted(name))
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn who_uses_one_is_told_what_to_do() {
        let told = |flag: &str| {
            let error =
                Args::try_parse_from(["sluice", "run", "--manifests", ".", flag]).unwrap_err();
            explained(error).to_string()
        };
        assert!(
            told("--profiler-port=1")
                .contains("tip: --profiler-port is a flag of ingress-nginx: profiles are at")
        );
        assert!(!told("--nonsense").contains("ingress-nginx"));
        let lint = [
            "sluice",
            "lint",
            "--manifests",
            ".",
            "--publish-service=a/b",
        ];
        let told = explained(Args::try_parse_from(lint).unwrap_err()).to_string();
        assert!(
            told.contains("--publish-service is a flag of `sluice run`"),
            "{told}"
        );
    }
}
