//! Sets of values that together reach every branch of the templates.

use serde_json::{Value, json};

/// Each with its name.
pub(crate) fn cases() -> Vec<(&'static str, Value)> {
    let mut cases = vec![("defaults", json!({})), ("everything", everything())];
    cases.extend(data_planes());
    cases.extend(scopes());
    cases.extend(names());
    cases
}

fn data_planes() -> Vec<(&'static str, Value)> {
    vec![
        (
            "a DaemonSet",
            json!({"tcp": {"9000": "default/redis:6379"}, "udp": {"53": "kube-system/dns:53"},
                "dataPlane": {"kind": "DaemonSet", "hostPort": {"enabled": true}}}),
        ),
        (
            "the node's network",
            json!({"dataPlane": {"kind": "DaemonSet", "hostNetwork": true, "service": {"enabled": false}}}),
        ),
        (
            "a NodePort",
            json!({"dataPlane": {"service": {"type": "NodePort", "nodePorts": {"http": 30080, "https": 30443}}}}),
        ),
        (
            "internal",
            json!({"dataPlane": {"service": {"type": "ClusterIP"}}, "networkPolicy": {"enabled": false}}),
        ),
        (
            "only the internal Service",
            json!({"dataPlane": {"service": {"external": {"enabled": false}, "internal": {"enabled": true}}}}),
        ),
        (
            "KEDA",
            json!({"dataPlane": {"keda": {"enabled": true, "fallback": {"replicas": 3},
                "triggers": [{"type": "cpu", "metadata": {"value": "70"}}]}}}),
        ),
        (
            "IPv6",
            json!({"bindAddress": "::", "dataPlane": {"service": {"ipFamilyPolicy": ""}}}),
        ),
    ]
}

fn scopes() -> Vec<(&'static str, Value)> {
    vec![
        (
            "one namespace",
            json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}, "addHeaders": {"X-A": "b"}},
                "tcp": {"9000": "shop/redis:6379"}}),
        ),
        (
            "some namespaces",
            json!({"controller": {"scope": {"namespaceSelector": "team in (a,b)"}}}),
        ),
        (
            "no admission",
            json!({"controller": {"admission": {"enabled": false}}}),
        ),
        (
            "certificates that are there",
            json!({"xds": {"certificates": "existing"}}),
        ),
        (
            "a fixed address",
            json!({"controller": {"extraArgs": {"publish-status-address": "192.0.2.1"}}}),
        ),
        (
            "a default backend",
            json!({"defaultBackend": {"enabled": true}}),
        ),
        (
            "a default backend elsewhere",
            json!({"controller": {"defaultBackendService": "default/fallback"}}),
        ),
    ]
}

fn names() -> Vec<(&'static str, Value)> {
    let theirs = json!({"serviceAccount": {"create": false, "name": "theirs"}});
    vec![(
        "accounts and rights of somebody else",
        json!({"rbac": {"create": false}, "controller": theirs, "dataPlane": theirs}),
    )]
}

/// Of a pod: whatever may be in one.
fn pod() -> Value {
    json!({
        "annotations": {"a": "b"},
        "labels": {"team": "edge"},
        "runtimeClassName": "gvisor",
        "minReadySeconds": 5,
        "progressDeadlineSeconds": 300,
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}, "failureThreshold": 30},
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
        "hostAliases": [{"ip": "192.0.2.9", "hostnames": ["sso.example"]}],
        "tolerations": [{"key": "edge", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
            [{"matchExpressions": [{"key": "edge", "operator": "Exists"}]}]}}},
        "extraEnvs": [{"name": "A", "value": "b"}],
        "extraVolumes": [{"name": "extra", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "extra", "mountPath": "/extra"}],
        "extraContainers": [{"name": "sidecar", "image": "example.com/sidecar:1"}],
        "extraInitContainers": [{"name": "init", "image": "example.com/init:1"}],
        "podDisruptionBudget": {"minAvailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    })
}

fn with(mut pod: Value, more: &Value) -> Value {
    crate::chart::merge(&mut pod, more);
    pod
}

fn everything() -> Value {
    let controller = json!({
        "ingressClassResource": {"default": true, "aliases": ["edge"], "annotations": {"a": "b"},
            "parameters": {"apiGroup": "example.com", "kind": "Parameters", "name": "x"}},
        "ingressClassByName": true,
        "watchIngressWithoutClass": true,
        "podWeights": true,
        "disableCatchAll": true,
        "config": {"proxy-body-size": "8m"},
        "configAnnotations": {"a": "b"},
        "proxySetHeaders": {"X-Edge": "1"},
        "addHeaders": {"X-Served-By": "edge"},
        "admission": {"certificates": "cert-manager", "annotations": {"a": "b"},
            "namespaceSelector": {"matchLabels": {"a": "b"}}, "objectSelector": {"matchLabels": {"c": "d"}}},
    });
    let service = json!({
        "annotations": {"a": "b"},
        "loadBalancerClass": "example.com/lb",
        "loadBalancerIP": "192.0.2.3",
        "loadBalancerSourceRanges": ["192.0.2.0/24"],
        "externalIPs": ["192.0.2.4"],
        "allocateLoadBalancerNodePorts": false,
        "healthCheckNodePort": 32000,
        "sessionAffinity": "ClientIP",
        "trafficDistribution": "PreferClose",
        "ipFamilyPolicy": "RequireDualStack",
        "ipFamilies": ["IPv6", "IPv4"],
        "nodePorts": {"tcp": {"9000": 30900}},
        "targetPorts": {"https": "http"},
        "internal": {"enabled": true, "type": "NodePort", "nodePorts": {"tcp": {"9000": 30901}}},
    });
    let data_plane = json!({
        "autoscaling": {"enabled": true, "targetMemoryUtilizationPercentage": 80, "annotations": {"a": "b"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1"}}}]},
        "zone": "eu-1a",
        "service": service,
    });
    let default_backend = json!({"enabled": true, "autoscaling": {"enabled": true}, "extraArgs": {"color": "blue"}, "podDisruptionBudget": {"minAvailable": ""}});
    json!({
        "commonLabels": {"owner": "edge"},
        "imagePullSecrets": [{"name": "pull"}],
        "tcp": {"9000": "default/redis:6379", "53": "kube-system/dns:53:PROXY"},
        "udp": {"53": "kube-system/dns:53", "9000": "default/game:9000"},
        "portNamePrefix": "p-",
        "logFormat": "json",
        "controller": with(pod(), &controller),
        "dataPlane": with(pod(), &data_plane),
        "defaultBackend": with(pod(), &default_backend),
        "xds": {"certificates": "cert-manager"},
        "networkPolicy": {"metricsFrom": [{"namespaceSelector": {}}]},
        "metrics": {
            "serviceMonitor": {"enabled": true, "namespace": "monitoring", "scrapeTimeout": "5s", "annotations": {"a": "b"},
                "relabelings": [{"action": "labeldrop", "regex": "x"}], "metricRelabelings": [{"action": "labeldrop", "regex": "y"}]},
            "prometheusRule": {"enabled": true, "annotations": {"a": "b"}, "rules": [{"alert": "Mine", "expr": "vector(1)"}]},
            "dashboard": {"enabled": true},
        },
    })
}
