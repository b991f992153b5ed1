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
            "loadBalancerClass and loadBalancerSourceRanges need the type LoadBalancer, got NodePort",
        ),
        (
            json!({"type": "ClusterIP", "loadBalancerSourceRanges": ranges}),
            "loadBalancerClass and loadBalancerSourceRanges need the type LoadBalancer, got ClusterIP",
        ),
        (
            json!({"type": "ClusterIP", "nodePorts": {"http": 30080}}),
            "nodePorts need the type NodePort or LoadBalancer, got ClusterIP",
        ),
    ] {
        let error = format!("{:#}", service(&values).unwrap_err());
        assert!(error.contains(message), "{values}: {error}");
    }
}

#[test]
fn node_port_component_patches_the_base_into_what_the_chart_renders() -> Result<()> {
    let certificates = json!({"certificates": "existing"});
    let mut patched = objects(&json!({"xds": certificates}))?;
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
    let rendered = objects(&json!({"xds": certificates, "dataPlane": service}))?;
    assert_eq!(patched, rendered);
    Ok(())
}
