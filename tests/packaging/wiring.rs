//! Objects that name each other: whatever is named is there.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::cases::cases;
use crate::chart::{NAMESPACE, objects};
use crate::pods::{Pod, pods};

fn selects(selector: &Value, labels: &Value) -> bool {
    selector.as_object().is_some_and(|selector| {
        !selector.is_empty() && selector.iter().all(|(key, value)| labels[key] == *value)
    })
}

fn selected<'a>(selector: &Value, pods: &'a [Pod]) -> Result<&'a Pod> {
    let mut found = pods.iter().filter(|pod| selects(selector, &pod.labels));
    let pod = found
        .next()
        .with_context(|| format!("{selector} selects nothing"))?;
    ensure!(
        found.next().is_none(),
        "{selector} selects more than one workload"
    );
    Ok(pod)
}

fn has_port(pod: &Pod, port: &Value) -> bool {
    let ports = |container: &Value| container["ports"].as_array().cloned().unwrap_or_default();
    pod.containers()
        .flat_map(ports)
        .any(|candidate| candidate["name"] == *port)
}

/// The ports that an object uses of the pods it selects: each selector with its port names.
fn uses(object: &Value) -> Vec<(&Value, Vec<&Value>)> {
    let all = |pointer: &str, field: &'static str| {
        let items = object
            .pointer(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        items.map(move |item| &item[field]).collect::<Vec<_>>()
    };
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap_or_default() {
        "Service" => vec![(&spec["selector"], all("/spec/ports", "targetPort"))],
        "PodMonitor" => vec![(
            &spec["selector"]["matchLabels"],
            all("/spec/podMetricsEndpoints", "port"),
        )],
        "PodDisruptionBudget" => vec![(&spec["selector"]["matchLabels"], vec![])],
        "NetworkPolicy" => {
            let rules = spec["ingress"].as_array().into_iter().flatten();
            let ports = rules.flat_map(|rule| rule["ports"].as_array().into_iter().flatten());
            let mine = (
                &spec["podSelector"]["matchLabels"],
                ports.map(|port| &port["port"]).collect(),
            );
            let peers = spec["ingress"].as_array().into_iter().flatten();
            let peers = peers.flat_map(|rule| rule["from"].as_array().into_iter().flatten());
            let peers = peers.filter_map(|peer| peer.pointer("/podSelector/matchLabels"));
            peers.map(|peer| (peer, vec![])).chain([mine]).collect()
        }
        _ => vec![],
    }
}

#[test]
fn selectors_match_one_workload_that_has_the_ports() -> Result<()> {
    for (case, values) in cases() {
        let objects = objects(&values)?;
        let pods = pods(&objects);
        for object in &objects {
            let name = format!("{case}: {} {}", object["kind"], object["metadata"]["name"]);
            for (selector, ports) in uses(object) {
                let pod = selected(selector, &pods).with_context(|| name.clone())?;
                for port in ports {
                    ensure!(
                        has_port(pod, port),
                        "{name}: {} has no port {port}",
                        pod.name
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn service_monitor_matches_a_service_with_its_port() -> Result<()> {
    let objects = objects(&json!({"metrics": {"serviceMonitor": {"enabled": true}}}))?;
    let of = |kind: &str| {
        objects
            .iter()
            .filter(move |object| object["kind"] == kind)
            .collect::<Vec<_>>()
    };
    for monitor in of("ServiceMonitor") {
        let selector = &monitor["spec"]["selector"]["matchLabels"];
        let services = of("Service")
            .into_iter()
            .filter(|service| selects(selector, &service["metadata"]["labels"]));
        let services: Vec<&Value> = services.collect();
        ensure!(services.len() == 1, "{} services", services.len());
        let port = &monitor["spec"]["endpoints"][0]["port"];
        let mut ports = services[0]["spec"]["ports"]
            .as_array()
            .into_iter()
            .flatten();
        ensure!(
            ports.any(|candidate| candidate["name"] == *port),
            "no port {port}"
        );
    }
    Ok(())
}

#[test]
fn accounts_mounts_and_scale_targets_exist() -> Result<()> {
    for (case, values) in cases() {
        let objects = objects(&values)?;
        let exists = |kind: &str, name: &Value| {
            objects
                .iter()
                .any(|object| object["kind"] == kind && object["metadata"]["name"] == *name)
        };
        for pod in pods(&objects) {
            let account = &pod.spec["serviceAccountName"];
            ensure!(
                exists("ServiceAccount", account) || account == "theirs",
                "{case}: {}: {account}",
                pod.name
            );
            let volumes: Vec<&Value> = pod.spec["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|volume| &volume["name"])
                .collect();
            let mounts = pod
                .containers()
                .flat_map(|container| container["volumeMounts"].as_array().into_iter().flatten());
            for mount in mounts {
                ensure!(
                    volumes.contains(&&mount["name"]),
                    "{case}: {}: {mount}",
                    pod.name
                );
            }
        }
        for scaler in objects.iter().filter(|object| {
            object["kind"] == "HorizontalPodAutoscaler" || object["kind"] == "ScaledObject"
        }) {
            let target = &scaler["spec"]["scaleTargetRef"];
            let kind = target["kind"].as_str().context("no kind")?;
            ensure!(exists(kind, &target["name"]), "{case}: {target}");
        }
    }
    Ok(())
}

/// The data plane calls the controller by a name that its Service has and its certificate must have.
#[test]
fn data_plane_connects_to_the_controllers_service() -> Result<()> {
    for (case, values) in cases() {
        let objects = objects(&values)?;
        let text = serde_json::to_string(&objects)?;
        let expected = format!("--xds-address=sluice-controller.{NAMESPACE}.svc:18000");
        ensure!(text.contains(&expected), "{case}");
        let service = objects.iter().find(|object| {
            object["kind"] == "Service" && object["metadata"]["name"] == "sluice-controller"
        });
        let service = service.with_context(|| case.to_owned())?;
        ensure!(
            service["spec"]["ports"][0]["port"] == 18000,
            "{case}: {service}"
        );
        for certificate in objects
            .iter()
            .filter(|object| object["spec"]["commonName"] == "controller")
        {
            let name = format!("sluice-controller.{NAMESPACE}.svc");
            ensure!(
                certificate["spec"]["dnsNames"] == json!([name]),
                "{case}: {certificate}"
            );
        }
    }
    Ok(())
}

#[test]
fn every_object_is_unique_and_has_namespace_and_labels() -> Result<()> {
    let cluster = [
        "ClusterRole",
        "ClusterRoleBinding",
        "IngressClass",
        "ValidatingWebhookConfiguration",
    ];
    for (case, values) in cases() {
        let mut seen = Map::new();
        for object in objects(&values)? {
            let kind = object["kind"].as_str().context("no kind")?.to_owned();
            let id = format!(
                "{kind} {}/{}",
                object["metadata"]["namespace"], object["metadata"]["name"]
            );
            ensure!(object["apiVersion"].is_string(), "{case}: {id}");
            let labels = &object["metadata"]["labels"];
            ensure!(
                labels["app.kubernetes.io/instance"] == "sluice",
                "{case}: {id}: {labels}"
            );
            let has_namespace = object["metadata"]["namespace"].is_string();
            ensure!(
                has_namespace != cluster.contains(&kind.as_str()),
                "{case}: {id}"
            );
            ensure!(
                seen.insert(id.clone(), Value::Null).is_none(),
                "{case}: {id} twice"
            );
        }
    }
    Ok(())
}

/// `sluice dbg` in the controller's container finds the socket of the controller, which can write there.
#[test]
fn admin_socket_is_where_a_second_process_of_the_container_looks() -> Result<()> {
    for (case, values) in cases() {
        for object in objects(&values)?.iter().filter(|object| {
            object["kind"] == "Deployment"
                && object["metadata"]["labels"]["app.kubernetes.io/component"] == "controller"
        }) {
            let spec = &object["spec"]["template"]["spec"];
            let containers = spec["containers"].as_array().context("containers")?;
            let mut containers = containers.iter();
            let controller = containers
                .find(|container| container["name"] == "controller")
                .context("controller")?;
            let variables = controller["env"].as_array().into_iter().flatten();
            let mut sockets = variables.filter(|it| it["name"] == "SLUICE_ADMIN_SOCKET");
            let socket = sockets.next().and_then(|it| it["value"].as_str());
            let folder = socket.and_then(|path| Some(path.rsplit_once('/')?.0));
            let mut mounts = controller["volumeMounts"].as_array().into_iter().flatten();
            let mount = mounts
                .find(|mount| mount["mountPath"].as_str() == folder)
                .with_context(|| format!("{case}: {socket:?} is in no volume"))?;
            let mut volumes = spec["volumes"].as_array().into_iter().flatten();
            let volume = volumes.find(|volume| volume["name"] == mount["name"]);
            let is_writable = volume.is_some_and(|volume| volume["emptyDir"].is_object());
            ensure!(is_writable && mount["readOnly"] != true, "{case}: {mount}");
        }
    }
    Ok(())
}
