//! Defaults of ingress-nginx's chart. A value that repeats one asks for nothing, so there is nothing to say about it; and where
//! Sluice's default is another, a file that leaves theirs still means theirs.

use std::sync::LazyLock;

use serde_json::Value;

use super::{Conversion, helm, is_empty};

/// The `values.yaml` of ingress-nginx's chart 4.15.1 without its comments:
///
/// ```text
/// helm show values ingress-nginx --repo https://kubernetes.github.io/ingress-nginx --version 4.15.1 | grep -vE '^ *(#|$)' > defaults.yaml
/// ```
pub(super) const TEXT: &str = include_str!("defaults.yaml");

/// A part of this program: that it is YAML a test has seen.
static DEFAULTS: LazyLock<Value> = LazyLock::new(|| helm::read(TEXT).unwrap_or_default());

/// Their default for a path of theirs.
pub(super) fn default_of(path: &str) -> Option<&'static Value> {
    let mut keys = path.split('.');
    keys.try_fold(&*DEFAULTS, |above, key| above.get(key))
}

/// Returns `true` if a file with this value means what a file without it means.
pub(super) fn is_default(path: &str, value: &Value) -> bool {
    default_of(path).is_some_and(|default| says_nothing_new(value, default))
}

/// Maps are merged with those of the chart, so a part of a default is that default.
fn says_nothing_new(value: &Value, default: &Value) -> bool {
    match (value, default) {
        (Value::Object(fields), Value::Object(defaults)) => fields.iter().all(|(key, value)| {
            let default = defaults.get(key);
            default.is_some_and(|default| says_nothing_new(value, default))
        }),
        (value, default) => value == default,
    }
}

/// Defaults of ours that would change how clients are served, in words. Theirs are set, for ours break what works: with `Local` a
/// node without a pod drops what a balancer, a client or DNS sends it, and a second family has addresses that no firewall and
/// no DNS zone knows. How far a workload scales is a matter of whoever has turned that on.
pub(super) const SET: &[(&str, &str)] = &[
    ("dataPlane.service.externalTrafficPolicy", "Local"),
    ("dataPlane.service.ipFamilyPolicy", "PreferDualStack"),
    ("dataPlane.service.ipFamilies", "the cluster's"),
    ("dataPlane.service.internal.externalTrafficPolicy", "Local"),
    (
        "dataPlane.service.internal.ipFamilyPolicy",
        "PreferDualStack",
    ),
    ("dataPlane.service.internal.ipFamilies", "the cluster's"),
    ("dataPlane.autoscaling.minReplicas", "2"),
    ("dataPlane.autoscaling.maxReplicas", "10"),
    ("dataPlane.autoscaling.targetCPUUtilizationPercentage", "70"),
    (
        "dataPlane.autoscaling.targetMemoryUtilizationPercentage",
        "0",
    ),
    ("dataPlane.keda.minReplicas", "2"),
    ("dataPlane.keda.maxReplicas", "10"),
    (
        "defaultBackend.autoscaling.targetMemoryUtilizationPercentage",
        "0",
    ),
];

/// Defaults of ours that stay, and theirs: they change what runs, not what is served, and ours are the safer ones.
pub(super) const KEPT: &[(&str, &str, &str)] = &[
    ("dataPlane.replicaCount", "2", "1"),
    ("networkPolicy.enabled", "true", "false"),
];

const INTERNAL_TYPE: &str = "dataPlane.service.internal.type";
pub(super) const SCALED: &str = "dataPlane.autoscaling.enabled";
pub(super) const KEDA: &str = "dataPlane.keda.enabled";

impl Conversion {
    /// Sets theirs where the file leaves a default that would change how clients are served.
    pub(super) fn keep_their_defaults(&mut self) {
        for (place, ours) in SET {
            if self.get(place).is_some() || !self.has_meaning(place) {
                continue;
            }
            if let Some(theirs) = their_default(place) {
                self.set(place, place, &theirs);
                self.defaults_set.push((place, ours));
            }
        }
    }

    /// Defaults of ours that hold in this file.
    pub(super) fn defaults_kept(&self) -> Vec<&'static (&'static str, &'static str, &'static str)> {
        let is_kept = |place: &str| self.get(place).is_none() && self.has_meaning(place);
        KEPT.iter().filter(|(place, ..)| is_kept(place)).collect()
    }

    /// Returns `false` where the chart, or the API server, has no use for the value in this file.
    fn has_meaning(&self, place: &str) -> bool {
        let has = |place: &str, text: &str| self.get(place).is_some_and(|value| value == text);
        let (above, _) = place.rsplit_once('.').unwrap_or_default();
        let is_cluster_ip = match above {
            "dataPlane.service.internal" if self.get(INTERNAL_TYPE).is_some() => {
                has(INTERNAL_TYPE, "ClusterIP")
            }
            _ => has("dataPlane.service.type", "ClusterIP"),
        };
        match above {
            "dataPlane" => {
                let scales = [SCALED, KEDA].iter().any(|switch| self.is_on(switch));
                !scales && !has("dataPlane.kind", "DaemonSet")
            }
            "networkPolicy" => true,
            _ if place.ends_with("externalTrafficPolicy") && is_cluster_ip => false,
            "dataPlane.service" => !self
                .get("dataPlane.service.enabled")
                .is_some_and(|value| *value == false),
            above => self.is_on(&format!("{above}.enabled")),
        }
    }

    pub(super) fn get(&self, place: &str) -> Option<&Value> {
        let mut keys = place.split('.');
        let first = self.ours.get(keys.next()?)?;
        let value = keys.try_fold(first, |above, key| above.get(key))?;
        (!is_empty(value)).then_some(value)
    }

    pub(super) fn is_on(&self, switch: &str) -> bool {
        self.get(switch).is_some_and(|value| *value == true)
    }
}

/// Their default for a place of ours: it has the same name there.
fn their_default(place: &str) -> Option<Value> {
    if place.ends_with(".externalTrafficPolicy") {
        // Kubernetes' own, which their empty one stands for.
        return Some("Cluster".into());
    }
    default_of(&place.replacen("dataPlane.", "controller.", 1)).cloned()
}
