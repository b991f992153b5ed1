//! `controller.extraArgs`: flags keep their names, but for those that Sluice's chart sets from values, and Sluice's own may be
//! among them: who tries a flag writes it here.

use serde_json::Value;

use super::table::Rule;
use crate::args::{FlagSupport, flag_support};

const OWN: &str = "Sluice's chart sets it itself";
const PROBES: &str = "the chart's probes ask for /healthz of the pod's address";

#[rustfmt::skip]
const OF_CHART: &[(&str, Rule)] = &[
    ("access-log", Rule::Switch("controller.accessLog")),
    ("apiserver-host", Rule::None("controllers use their service account")),
    ("bind-address", Rule::Copy(&["bindAddress"])),
    ("configmap", Rule::None("write the settings into controller.config")),
    ("controller-class", Rule::Copy(&["controller.ingressClassResource.controllerValue"])),
    ("data-plane", Rule::None(OWN)),
    ("default-backend-service", Rule::Copy(&["controller.defaultBackendService"])),
    ("disable-catch-all", Rule::Switch("controller.disableCatchAll")),
    ("drain-timeout", Rule::Number("dataPlane.drainTimeout")),
    ("election-id", Rule::None("the Lease is called after the release")),
    ("envoy-concurrency", Rule::Number("dataPlane.concurrency")),
    ("enable-metrics", Rule::Switch("metrics.enabled")),
    ("health-check-path", Rule::None(PROBES)),
    ("healthz-host", Rule::None(PROBES)),
    ("healthz-port", Rule::None("the port of health and metrics is 10254")),
    ("http-port", Rule::Number("dataPlane.containerPort.http")),
    ("https-port", Rule::Number("dataPlane.containerPort.https")),
    ("ingress-class", Rule::Copy(&["controller.ingressClass"])),
    ("ingress-class-by-name", Rule::Switch("controller.ingressClassByName")),
    ("kubeconfig", Rule::None("controllers use their service account")),
    ("log-format", Rule::Copy(&["logFormat"])),
    ("pod-weights", Rule::Switch("controller.podWeights")),
    ("post-shutdown-grace-period", Rule::None("a pod of the data plane ends when its requests have ended: dataPlane.drainTimeout")),
    ("publish-pods", Rule::None("dataPlane.hostPort.enabled and dataPlane.hostNetwork set it")),
    ("shutdown-grace-period", Rule::Number("dataPlane.shutdownGracePeriod")),
    ("source", Rule::None(OWN)),
    ("tcp-services-configmap", Rule::None("write the ports into tcp, which adds them to Services and NetworkPolicies")),
    ("udp-services-configmap", Rule::None("write the ports into udp, which adds them to Services and NetworkPolicies")),
    ("validating-webhook", Rule::None(OWN)),
    ("validating-webhook-certificate", Rule::None(OWN)),
    ("validating-webhook-key", Rule::None(OWN)),
    ("watch-ingress-without-class", Rule::Switch("controller.watchIngressWithoutClass")),
    ("watch-namespace", Rule::Namespace),
    ("watch-namespace-selector", Rule::Copy(&["controller.scope.namespaceSelector"])),
    ("xds-address", Rule::None(OWN)),
    ("xds-certificates", Rule::None(OWN)),
    ("zone", Rule::Copy(&["dataPlane.zone"])),
];

/// Fate of a flag.
pub(super) enum Fate {
    /// The chart has a value for it.
    Value(&'static Rule),
    /// It stays a flag.
    Kept,
    /// `sluice run` does not take it, for this reason.
    Gone(String),
}

pub(super) fn fate(flag: &str) -> Fate {
    if let Some((_, rule)) = OF_CHART.iter().find(|(own, _)| *own == flag) {
        return Fate::Value(rule);
    }
    match flag_support(flag) {
        FlagSupport::Taken => Fate::Kept,
        FlagSupport::Gone(advice) => Fate::Gone(advice.to_owned()),
        FlagSupport::Unknown => Fate::Gone("`sluice run` has no such flag".to_owned()),
    }
}

/// A flag's value as a value of the chart. A switch without one is on, and on has the words that ingress-nginx takes.
pub(super) fn value_of(rule: &Rule, value: &Value) -> Value {
    match (rule, value) {
        (Rule::Switch(_), Value::String(text)) => ["", "1", "t", "T", "true", "TRUE", "True"]
            .contains(&text.as_str())
            .into(),
        (Rule::Switch(_), Value::Number(number)) => (number.as_i64() == Some(1)).into(),
        _ => value.clone(),
    }
}

#[cfg(test)]
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    OF_CHART.iter().map(|(_, rule)| rule)
}
