//! `controller.extraArgs`: flags keep their names, but for those that Sluice's chart sets from values.

use super::table::Rule;
use crate::args::{FlagSupport, flag_support};

const OWN: &str = "Sluice's chart sets it itself";

#[rustfmt::skip]
const OF_CHART: &[(&str, Rule)] = &[
    ("access-log", Rule::Switch("controller.accessLog")),
    ("apiserver-host", Rule::None("controllers use their service account")),
    ("configmap", Rule::None("write the settings into controller.config")),
    ("controller-class", Rule::Copy(&["controller.ingressClassResource.controllerValue"])),
    ("default-backend-service", Rule::Copy(&["controller.defaultBackendService"])),
    ("disable-catch-all", Rule::Switch("controller.disableCatchAll")),
    ("election-id", Rule::None("the Lease is called after the release")),
    ("enable-metrics", Rule::Switch("metrics.enabled")),
    ("healthz-port", Rule::None("the port of health and metrics is 10254")),
    ("http-port", Rule::Number("dataPlane.containerPort.http")),
    ("https-port", Rule::Number("dataPlane.containerPort.https")),
    ("ingress-class", Rule::Copy(&["controller.ingressClass"])),
    ("ingress-class-by-name", Rule::Switch("controller.ingressClassByName")),
    ("kubeconfig", Rule::None("controllers use their service account")),
    ("tcp-services-configmap", Rule::None("write the ports into tcp, which adds them to Services and NetworkPolicies")),
    ("udp-services-configmap", Rule::None("write the ports into udp, which adds them to Services and NetworkPolicies")),
    ("validating-webhook", Rule::None(OWN)),
    ("validating-webhook-certificate", Rule::None(OWN)),
    ("validating-webhook-key", Rule::None(OWN)),
    ("watch-ingress-without-class", Rule::Switch("controller.watchIngressWithoutClass")),
    ("watch-namespace", Rule::Namespace),
    ("watch-namespace-selector", Rule::Copy(&["controller.scope.namespaceSelector"])),
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

#[cfg(test)]
pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    OF_CHART.iter().map(|(_, rule)| rule)
}
