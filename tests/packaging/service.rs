//! The public Service of each type: what the API server takes for that type, and nothing that it refuses.

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;

use crate::chart::{objects, read_yaml};

const COMPONENT: &str = "controller/deploy/kustomize/components/node-port/kustomization.yaml";

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let mut named = objects
        .iter()
        .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    named.next().with_context(|| format!("no {kind} {name}"))
}

/// The spec of the public Service with these values below `dataPlane.service`.
fn service(values: &Value) -> Result<Value> {
    let objects = objects(&json!({"dataPlane": {"service": values}}))?;
    Ok(find(&objects, "Service", "sluice-data-plane")?["spec"].clone())
}

fn node_ports(service: &Value) -> Vec<&Value> {
    let ports = service["ports"].as_array().into_iter().flatten();
    ports.map(|port| &port["nodePort"]).collect()
}

#[test]
fn node_ports_are_those_of_the_values_or_the_clusters_choice() -> Result<()> {
    let chosen = service(&json!({"type": "NodePort"}))?;
    ensure!(
        chosen["type"] == "NodePort" && chosen["externalTrafficPolicy"] == "Local",
        "{chosen}"
    );
    ensure!(node_ports(&chosen) == [&Value::Null; 2], "{chosen}");
    for kind in ["NodePort", "LoadBalancer"] {
        let fixed = service(&json!({"type": kind, "nodePorts": {"http": 30080, "https": 30443}}))?;
        ensure!(node_ports(&fixed) == [30080, 30443], "{fixed}");
        let one = service(&json!({"type": kind, "nodePorts": {"https": 30443}}))?;
        ensure!(node_ports(&one) == [&Value::Null, &json!(30443)], "{one}");
    }
    Ok(())
}

/// An API server refuses them, too, but says so after the install has begun.
#[test]
fn fields_of_another_type_of_service_are_refused() {
    let ranges = json!(["192.0.2.0/24"]);
    for (values, message) in [
        (
            json!({"type": "NodePort", "loadBalancerClass": "example.com/lb"}),
            "dataPlane.service: loadBalancerClass, loadBalancerSourceRanges, loadBalancerIP and allocateLoadBalancerNodePorts need the type LoadBalancer, got NodePort",
        ),
        (
            json!({"type": "ClusterIP", "loadBalancerSourceRanges": ranges}),
            "dataPlane.service: loadBalancerClass, loadBalancerSourceRanges, loadBalancerIP and allocateLoadBalancerNodePorts need the type LoadBalancer, got ClusterIP",
        ),
        (
            json!({"internal": {"enabled": true, "type": "ClusterIP", "nodePorts": {"http": 30080}}}),
            "dataPlane.service.internal: nodePorts and healthCheckNodePort need the type NodePort or LoadBalancer, got ClusterIP",
        ),
        (
            json!({"type": "ClusterIP", "nodePorts": {"http": 30080}}),
            "dataPlane.service: nodePorts and healthCheckNodePort need the type NodePort or LoadBalancer, got ClusterIP",
        ),
    ] {
        let error = format!("{:#}", service(&values).unwrap_err());
        assert!(error.contains(message), "{values}: {error}");
    }
}

#[test]
fn node_port_component_patches_the_base_into_what_the_chart_renders() -> Result<()> {
    let mut patched = objects(&json!({}))?;
    let component = read_yaml(&repository().join(COMPONENT))?;
    let patches = component["patches"].as_array().context("patches")?;
    for entry in patches {
        let target = &entry["target"];
        let mut matching = patched.iter_mut().filter(|object| {
            object["kind"] == target["kind"] && object["metadata"]["name"] == target["name"]
        });
        let object = matching.next().with_context(|| target.to_string())?;
        let text = entry["patch"].as_str().context("patch")?;
        let operations: Vec<Value> = serde_saphyr::from_str(text)?;
        for operation in &operations {
            ensure!(operation["op"] == "replace", "{operation}");
            let path = operation["path"].as_str().context("path")?;
            let place = object
                .pointer_mut(path)
                .with_context(|| operation.to_string())?;
            *place = operation["value"].clone();
        }
    }
    let service = json!({"service": {"type": "NodePort"}});
    let rendered = objects(&json!({"dataPlane": service}))?;
    assert_eq!(patched, rendered);
    Ok(())
}

/// TCP and UDP ports are the same in all places that make one reachable.
#[test]
fn ports_of_streams_are_on_services_policy_pods_and_flags() -> Result<()> {
    let values = json!({
        "tcp": {"9000": "default/redis:6379"},
        "udp": {"9000": "default/game:7", "5353": "kube-system/dns:53"},
        "dataPlane": {"service": {"internal": {"enabled": true}, "nodePorts": {"udp": {"9000": 30900}}}},
    });
    let objects = objects(&values)?;
    let named = |list: &Value| -> Vec<(String, String)> {
        let ports = list.as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let pair = |port: &Value| {
            let name = text(&port["name"]).or_else(|| text(&port["port"]))?;
            Some((
                name,
                text(&port["protocol"]).unwrap_or_else(|| "TCP".to_owned()),
            ))
        };
        let mut found: Vec<_> = ports.filter_map(pair).collect();
        found.retain(|(name, _)| name.contains('-'));
        found.sort();
        found
    };
    let pair = |name: &str, protocol: &str| (name.to_owned(), protocol.to_owned());
    let expected = [
        pair("5353-udp", "UDP"),
        pair("9000-tcp", "TCP"),
        pair("9000-udp", "UDP"),
    ];
    for name in ["sluice-data-plane", "sluice-data-plane-internal"] {
        let service = find(&objects, "Service", name)?;
        assert_eq!(named(&service["spec"]["ports"]), expected);
    }
    let policy = find(&objects, "NetworkPolicy", "sluice-data-plane")?;
    assert_eq!(named(&policy["spec"]["ingress"][0]["ports"]), expected);
    let pod = find(&objects, "Deployment", "sluice-data-plane")?;
    let containers = &pod["spec"]["template"]["spec"]["containers"];
    assert_eq!(named(&containers[0]["ports"]), expected);
    let public = find(&objects, "Service", "sluice-data-plane")?;
    let ports = public["spec"]["ports"].as_array().into_iter().flatten();
    let fixed = ports.filter(|port| port["nodePort"] == 30900);
    assert_eq!(
        fixed.map(|port| &port["name"]).collect::<Vec<_>>(),
        ["9000-udp"]
    );
    let controller = find(&objects, "Deployment", "sluice-controller")?;
    let args = controller["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    for protocol in ["tcp", "udp"] {
        let map = find(&objects, "ConfigMap", &format!("sluice-{protocol}"))?;
        assert_eq!(map["data"], values[protocol]);
        let flag = format!("--{protocol}-services-configmap=sluice-system/sluice-{protocol}");
        ensure!(args.contains(&flag), "{args}");
    }
    Ok(())
}

#[test]
fn ports_that_the_data_plane_has_are_refused() {
    for (port, by) in [
        ("8080", "containerPort.http"),
        ("8443", "containerPort.https"),
        ("10254", "metrics"),
    ] {
        let error = objects(&json!({"tcp": {port: "a/b:1"}})).unwrap_err();
        let error = format!("{error:#}");
        let message = format!("tcp.{port}: the data plane listens there already");
        assert!(error.contains(&message) && error.contains(by), "{error}");
    }
}
