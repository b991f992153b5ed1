//! Values that contradict each other: an API server would refuse what they make, after the install has begun, or half of it would not
//! work. The message names both.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::chart::{merge, objects};
use crate::helm::{template, text};
use crate::pods::pods;

/// Fails unless each of the values is refused with its message.
fn ensure_refused(cases: &[(Value, &str)]) -> Result<()> {
    for (values, message) in cases {
        let Err(error) = objects(values) else {
            anyhow::bail!("{values}: rendered")
        };
        let error = format!("{error:#}");
        ensure!(error.contains(message), "{values}: {error}");
    }
    Ok(())
}

fn data_plane(values: &Value) -> Value {
    json!({ "dataPlane": values })
}

fn service(values: &Value) -> Value {
    data_plane(&json!({ "service": values }))
}

fn controller(values: &Value) -> Value {
    json!({ "controller": values })
}

#[test]
fn two_ports_of_a_pod_are_not_alike() -> Result<()> {
    let ports = |ports: Value| data_plane(&json!({ "containerPort": ports }));
    ensure_refused(&[
        (
            ports(json!({"http": 8443})),
            "dataPlane.containerPort.https: the data plane listens there already (dataPlane.containerPort.http: 8443)",
        ),
        (
            ports(json!({"http": 10254})),
            "dataPlane.containerPort.http: the data plane listens there already (the port of metrics and health: 10254)",
        ),
        (
            json!({"xds": {"port": 10254}}),
            "xds.port: the controller listens there already (the port of metrics and health: 10254)",
        ),
        (
            json!({"xds": {"port": 8443}}),
            "xds.port: the controller listens there already (the port of controller.admission: 8443)",
        ),
        (
            json!({"tcp": {"70000": "a/b:1"}}),
            "tcp.70000: expected a port from 1 to 65535",
        ),
        (
            json!({"udp": {"053": "a/b:1"}}),
            "udp.053: expected a port from 1 to 65535",
        ),
    ])?;
    let mut free = json!({"xds": {"port": 8443}});
    merge(
        &mut free,
        &controller(&json!({"admission": {"enabled": false}})),
    );
    drop(objects(&free)?);
    Ok(())
}

#[test]
fn two_ports_of_a_node_are_not_alike() -> Result<()> {
    let on_nodes = |ports: Value| {
        data_plane(
            &json!({"hostPort": {"enabled": true, "ports": ports}, "service": {"enabled": false}}),
        )
    };
    let mut taken = on_nodes(json!({}));
    merge(&mut taken, &json!({"tcp": {"80": "a/b:1"}}));
    ensure_refused(&[
        (
            on_nodes(json!({"https": 80})),
            "dataPlane.hostPort.ports.https: the data plane has this port of the node already (dataPlane.hostPort.ports.http: 80)",
        ),
        (
            taken,
            "tcp.80: the data plane has this port of the node already (dataPlane.hostPort.ports.http: 80)",
        ),
        (
            data_plane(&json!({"hostNetwork": true, "hostPort": {"enabled": true}})),
            "dataPlane.hostPort.ports.http: with dataPlane.hostNetwork Envoy listens on dataPlane.containerPort.http of the node, 8080, got 80;",
        ),
        (
            service(&json!({"nodePorts": {"http": 30080, "https": 30080}})),
            "dataPlane.service.nodePorts.https: a Service has this port of all nodes already (dataPlane.service.nodePorts.http: 30080)",
        ),
        (
            service(
                &json!({"nodePorts": {"http": 30080}, "internal": {"enabled": true, "nodePorts": {"http": 30080}}}),
            ),
            "dataPlane.service.internal.nodePorts.http: a Service has this port of all nodes already (dataPlane.service.nodePorts.http: 30080)",
        ),
        (
            service(&json!({"nodePorts": {"http": 30080}, "healthCheckNodePort": 30080})),
            "dataPlane.service.nodePorts.http: a Service has this port of all nodes already (dataPlane.service.healthCheckNodePort: 30080)",
        ),
        (
            service(&json!({"nodePorts": {"tcp": {"9000": 30900}}})),
            "dataPlane.service.nodePorts.tcp.9000: there is no such port; set tcp.9000",
        ),
    ])
}

#[test]
fn services_have_ports_that_differ_and_fields_that_go_together() -> Result<()> {
    let mut taken = service(&json!({}));
    merge(&mut taken, &json!({"tcp": {"443": "a/b:1"}}));
    ensure_refused(&[
        (
            taken,
            "tcp.443: the Service sluice-data-plane has this port already (dataPlane.service.ports.https: 443)",
        ),
        (
            service(&json!({"internal": {"enabled": true, "ports": {"http": 443}}})),
            "dataPlane.service.internal.ports.https: the Service sluice-data-plane-internal has this port already (dataPlane.service.internal.ports.http: 443)",
        ),
        (
            service(&json!({"enableHttp": false, "enableHttps": false})),
            "dataPlane.service: a Service needs a port; set dataPlane.service.enableHttp",
        ),
        (
            service(&json!({"clusterIP": "None"})),
            "dataPlane.service.clusterIP: None needs the type ClusterIP, got LoadBalancer",
        ),
        (
            service(&json!({"type": "NodePort", "clusterIPs": ["None"]})),
            "dataPlane.service.clusterIP: None needs the type ClusterIP, got NodePort",
        ),
        (
            service(&json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]})),
            "dataPlane.service.clusterIP: expected the first of clusterIPs, 10.0.0.2, got 10.0.0.1",
        ),
        (
            service(&json!({"healthCheckNodePort": 32000, "externalTrafficPolicy": "Cluster"})),
            "dataPlane.service.healthCheckNodePort: it needs the type LoadBalancer and externalTrafficPolicy Local, got LoadBalancer and Cluster",
        ),
    ])
}

#[test]
fn scaling_and_shutdown_are_possible() -> Result<()> {
    let scaling = json!({"enabled": true, "minReplicas": 20});
    let keda = json!({"enabled": true, "minReplicas": 20, "triggers": [{"type": "cpu"}]});
    ensure_refused(&[
        (
            data_plane(&json!({ "autoscaling": scaling })),
            "dataPlane.autoscaling.minReplicas: expected at most maxReplicas, 10, got 20",
        ),
        (
            data_plane(&json!({ "keda": keda })),
            "dataPlane.keda.minReplicas: expected at most maxReplicas, 10, got 20",
        ),
        (
            json!({"defaultBackend": {"enabled": true, "autoscaling": scaling}}),
            "defaultBackend.autoscaling.minReplicas: expected at most maxReplicas, 2, got 20",
        ),
        (
            data_plane(&json!({"kind": "DaemonSet", "autoscaling": {"enabled": true}})),
            "dataPlane.autoscaling.enabled: a DaemonSet has one pod on every node; set dataPlane.kind",
        ),
        (
            data_plane(
                &json!({"kind": "DaemonSet", "keda": {"enabled": true, "triggers": [{"type": "cpu"}]}}),
            ),
            "dataPlane.keda.enabled: a DaemonSet has one pod on every node; set dataPlane.kind",
        ),
        (
            data_plane(&json!({"terminationGracePeriodSeconds": 255})),
            "dataPlane.terminationGracePeriodSeconds: expected more than shutdownGracePeriod and drainTimeout together, 255, got 255",
        ),
        (
            controller(&json!({"podDisruptionBudget": {"maxUnavailable": ""}})),
            "controller.podDisruptionBudget: expected minAvailable or maxUnavailable, got neither",
        ),
    ])
}

#[test]
fn names_are_given_once() -> Result<()> {
    let account = json!({"serviceAccount": {"name": "edge"}});
    ensure_refused(&[
        (
            controller(&json!({"ingressClassResource": {"aliases": ["edge", "nginx"]}})),
            "controller.ingressClassResource.aliases: there is an IngressClass of this name already (controller.ingressClassResource.name: nginx)",
        ),
        (
            json!({"xds": {"controllerSecret": "a", "dataPlaneSecret": "a"}}),
            "xds.dataPlaneSecret: there is a Secret of this name already (xds.controllerSecret: a)",
        ),
        (
            json!({"controller": account, "dataPlane": account}),
            "dataPlane.serviceAccount.name: there is a ServiceAccount of this name already (controller.serviceAccount.name: edge)",
        ),
        (
            json!({"nameOverride": "a".repeat(40)}),
            "fullnameOverride: names of objects begin with at most 42 characters",
        ),
    ])
}

/// Whatever the chart has in its pods, a second one of that name is refused.
#[test]
fn names_of_the_chart_in_pods_are_its_own() -> Result<()> {
    let mut tried = 0;
    for pod in pods(&objects(&json!({}))?) {
        let Some(part) = [("-controller", "controller"), ("-data-plane", "dataPlane")]
            .iter()
            .find_map(|(suffix, part)| pod.name.ends_with(suffix).then_some(*part))
        else {
            continue;
        };
        let container = pod.containers().next().context("no container")?;
        for (value, field, list) in [
            ("extraVolumes", "name", &pod.spec["volumes"]),
            ("extraVolumeMounts", "mountPath", &container["volumeMounts"]),
            ("extraEnvs", "name", &container["env"]),
            ("extraContainers", "name", &pod.spec["containers"]),
        ] {
            for own in list.as_array().into_iter().flatten() {
                let second = json!({part: {value: [{field: own[field]}]}});
                let taken = own[field].as_str().context(field)?;
                let said = format!(
                    "{part}.{value}: the pod has one of this {field} already (the chart's own: {taken})"
                );
                ensure_refused(&[(second, said.as_str())])?;
                tried += 1;
            }
        }
    }
    ensure!(tried > 15, "{tried} names");
    Ok(())
}

#[test]
fn labels_and_annotations_of_the_chart_are_its_own() -> Result<()> {
    let annotations = json!({"ingressclass.kubernetes.io/is-default-class": "true"});
    ensure_refused(&[
        (
            json!({"commonLabels": {"app.kubernetes.io/name": "x"}}),
            "commonLabels.app.kubernetes.io/name: the chart sets app.kubernetes.io/name itself",
        ),
        (
            data_plane(&json!({"podLabels": {"app.kubernetes.io/component": "x"}})),
            "dataPlane.podLabels.app.kubernetes.io/component: the chart sets",
        ),
        (
            controller(&json!({"ingressClassResource": {"annotations": annotations}})),
            "set controller.ingressClassResource.default",
        ),
        (
            controller(
                &json!({"admission": {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}}),
            ),
            "set controller.admission.certificates",
        ),
    ])
}

/// A key is on an object once, and its value is a string.
#[test]
fn labels_of_a_part_win_over_common_ones_and_all_are_strings() -> Result<()> {
    let part = json!({"labels": {"team": 2}, "podLabels": {"team": true}, "annotations": {"limit": 1_000_000},
        "podAnnotations": {"scrape": true}, "nodeSelector": {"gpu": true}});
    let values = json!({
        "commonLabels": {"team": 1, "owner": "edge"},
        "controller": part,
        "dataPlane": part,
        "metrics": {"dashboard": {"enabled": true, "labels": {"grafana_dashboard": 1, "team": 3}}},
    });
    let rendered = objects(&values)?;
    for object in &rendered {
        ensure_strings(object)?;
    }
    let of = |kind: &str, name: &str| {
        let mut named = rendered
            .iter()
            .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        named.next().with_context(|| format!("no {kind} {name}"))
    };
    let controller = of("Deployment", "sluice-controller")?;
    let pod = &controller["spec"]["template"];
    for (found, expected) in [
        (&controller["metadata"]["labels"]["team"], "2"),
        (&controller["metadata"]["labels"]["owner"], "edge"),
        (&controller["metadata"]["annotations"]["limit"], "1000000"),
        (&pod["metadata"]["labels"]["team"], "true"),
        (&pod["spec"]["nodeSelector"]["gpu"], "true"),
        (
            &of("Service", "sluice-controller")?["metadata"]["labels"]["team"],
            "1",
        ),
        (
            &of("ConfigMap", "sluice-dashboard")?["metadata"]["labels"]["team"],
            "3",
        ),
    ] {
        ensure!(*found == expected, "expected {expected}, got {found}");
    }
    // Helm would pass on two lines of one key.
    let helms = text(&template(&values)?)?;
    ensure!(helms.matches("team: \"2\"").count() == 2, "{helms}");
    Ok(())
}

fn ensure_strings(value: &Value) -> Result<()> {
    for (key, below) in value.as_object().into_iter().flatten() {
        if ["labels", "annotations", "nodeSelector"].contains(&key.as_str()) {
            let mut values = below.as_object().into_iter().flatten();
            ensure!(values.all(|(_, value)| value.is_string()), "{key}: {below}");
        }
        ensure_strings(below)?;
    }
    value
        .as_array()
        .into_iter()
        .flatten()
        .try_for_each(ensure_strings)
}
