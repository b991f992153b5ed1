//! The pods and their privileges.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cases::cases;
use crate::chart::{merge, objects};

/// A workload's name, its pod template's spec and its labels.
pub(crate) struct Pod {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) spec: Value,
    pub(crate) labels: Value,
}

impl Pod {
    pub(crate) fn containers(&self) -> impl Iterator<Item = &Value> {
        let of = |field: &str| self.spec[field].as_array().into_iter().flatten();
        of("initContainers").chain(of("containers"))
    }

    /// Those that run `sluice`.
    pub(crate) fn sluice_containers(&self) -> impl Iterator<Item = &Value> {
        let ours = ["controller", "envoy", "certgen"];
        self.containers()
            .filter(move |container| ours.iter().any(|name| container["name"] == *name))
    }

    /// Those of the chart itself, without what values add.
    fn own_containers(&self) -> impl Iterator<Item = &Value> {
        let others = ["sidecar", "init"];
        self.containers()
            .filter(move |container| others.iter().all(|name| container["name"] != *name))
    }

    fn is_data_plane(&self) -> bool {
        self.labels["app.kubernetes.io/component"] == "data-plane"
    }
}

/// Every pod template among these objects.
pub(crate) fn pods(objects: &[Value]) -> Vec<Pod> {
    let templates = objects
        .iter()
        .filter(|object| object["spec"]["template"]["spec"].is_object());
    let pod = |object: &Value| Pod {
        kind: object["kind"].as_str().unwrap_or_default().to_owned(),
        name: object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        spec: object["spec"]["template"]["spec"].clone(),
        labels: object["spec"]["template"]["metadata"]["labels"].clone(),
    };
    templates.map(pod).collect()
}

/// Runs a check on every pod of every case.
fn for_each_pod(check: impl Fn(&Pod) -> Result<()>) -> Result<()> {
    for (case, values) in cases() {
        let pods = pods(&objects(&values)?);
        ensure!(
            pods.len() >= 2,
            "{case}: expected the controller and the data plane, got {}",
            pods.len()
        );
        for pod in pods {
            check(&pod).with_context(|| format!("{case}: {} {}", pod.kind, pod.name))?;
        }
    }
    Ok(())
}

#[test]
fn every_pod_meets_the_restricted_profile() -> Result<()> {
    for_each_pod(|pod| {
        let security = &pod.spec["securityContext"];
        ensure!(
            security["runAsNonRoot"] == true
                && security["runAsUser"]
                    .as_u64()
                    .is_some_and(|user| user >= 65532),
            "{security}"
        );
        ensure!(
            security["seccompProfile"]["type"] == "RuntimeDefault",
            "{security}"
        );
        for field in ["hostPID", "hostIPC"] {
            ensure!(pod.spec[field].is_null(), "{field}");
        }
        // Only where a value asks for it.
        ensure!(
            pod.spec["hostNetwork"].is_null() || pod.is_data_plane(),
            "hostNetwork"
        );
        for sysctl in security["sysctls"].as_array().into_iter().flatten() {
            ensure!(
                sysctl["name"] == "net.ipv4.ip_unprivileged_port_start",
                "{sysctl}: the profile has no such sysctl"
            );
        }
        let volumes = pod.spec["volumes"].as_array().into_iter().flatten();
        ensure!(
            volumes.clone().all(|volume| volume["hostPath"].is_null()),
            "a folder of the node"
        );
        for container in pod.own_containers() {
            let expected = json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            });
            ensure!(
                container["securityContext"] == expected,
                "{}",
                container["securityContext"]
            );
            ensure!(
                container["resources"]["requests"]["memory"].is_string(),
                "no memory request"
            );
            ensure!(
                container["resources"]["limits"]["memory"].is_string(),
                "no memory limit"
            );
        }
        Ok(())
    })
}

#[test]
fn no_image_uses_the_latest_tag() -> Result<()> {
    for_each_pod(|pod| {
        for container in pod.containers() {
            let image = container["image"].as_str().context("no image")?;
            let tag = image.rsplit_once(':').map(|(_, tag)| tag);
            ensure!(
                tag.is_some_and(|tag| !tag.is_empty() && tag != "latest"),
                "{image}"
            );
        }
        Ok(())
    })
}

#[test]
fn digest_takes_precedence_over_tag() -> Result<()> {
    let image = json!({"image": {"digest": "sha256:00", "tag": "x"}});
    for pod in pods(&objects(&json!({"controller": image, "dataPlane": image}))?) {
        for container in pod.containers() {
            let image = container["image"].as_str().context("no image")?;
            ensure!(image.ends_with("@sha256:00"), "{image}");
        }
    }
    Ok(())
}

#[test]
fn long_running_pods_have_probes_on_existing_ports() -> Result<()> {
    for_each_pod(|pod| {
        for container in pod.own_containers().filter(|_| pod.kind != "Job") {
            for probe in ["livenessProbe", "readinessProbe"] {
                let port = &container[probe]["httpGet"]["port"];
                let mut ports = container["ports"].as_array().into_iter().flatten();
                ensure!(
                    ports.any(|candidate| candidate["name"] == *port),
                    "{probe}: no port {port}"
                );
            }
        }
        Ok(())
    })
}

#[test]
fn data_plane_has_no_token_and_no_permissions() -> Result<()> {
    for_each_pod(|pod| {
        if !pod.is_data_plane() {
            return Ok(());
        }
        ensure!(
            pod.spec["automountServiceAccountToken"] == false,
            "it gets a token"
        );
        let volumes = pod.spec["volumes"].to_string();
        ensure!(
            !volumes.contains("serviceAccountToken") && !volumes.contains("projected"),
            "{volumes}"
        );
        ensure!(
            !volumes.contains("sluice-xds-controller"),
            "it gets the controller's key: {volumes}"
        );
        Ok(())
    })?;
    for (case, values) in cases() {
        let objects = objects(&values)?;
        let bindings = objects
            .iter()
            .filter(|object| object["subjects"].is_array());
        let subjects =
            bindings.flat_map(|binding| binding["subjects"].as_array().into_iter().flatten());
        for subject in subjects {
            ensure!(
                subject["name"] != "sluice-data-plane",
                "{case}: the data plane has rights"
            );
        }
        let mut accounts = objects
            .iter()
            .filter(|object| object["kind"] == "ServiceAccount");
        ensure!(
            accounts.all(|account| account["automountServiceAccountToken"] == false),
            "{case}"
        );
    }
    Ok(())
}

#[test]
fn grace_period_of_the_data_plane_covers_draining() -> Result<()> {
    for_each_pod(|pod| {
        for container in pod.sluice_containers().filter(|_| pod.is_data_plane()) {
            let args = container["args"].as_array().context("no args")?;
            let seconds = |flag: &str| {
                let mut args = args.iter().filter_map(Value::as_str);
                let value = args.find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('='));
                value
                    .context("no such flag")?
                    .parse::<i64>()
                    .context("not a number")
            };
            let needed = seconds("--shutdown-grace-period")? + seconds("--drain-timeout")? + 10;
            let given = pod.spec["terminationGracePeriodSeconds"]
                .as_i64()
                .context("no time limit")?;
            ensure!(needed <= given, "needs {needed} s, has {given} s");
        }
        Ok(())
    })
}

/// Ports below 1024 are open to everybody in the network of such a pod, and in that of a node for nobody.
#[test]
fn low_ports_of_the_data_plane_need_no_privilege() -> Result<()> {
    let low = json!({"tcp": {"53": "a/b:53"}});
    let http = json!({"dataPlane": {"containerPort": {"http": 80}}});
    let high = json!({"tcp": {"5353": "a/b:53"}});
    for (values, expected) in [(low, true), (http, true), (high, false)] {
        let pods = pods(&objects(&values)?);
        let pod = pods.iter().find(|pod| pod.is_data_plane());
        let sysctls = &pod.context("no data plane")?.spec["securityContext"]["sysctls"];
        let start = json!([{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}]);
        ensure!((*sysctls == start) == expected, "{values}: {sysctls}");
    }
    Ok(())
}

/// As docs/install.md says of 80 and 443 on the node's network.
#[test]
fn low_ports_of_the_node_need_the_capability() -> Result<()> {
    for ports in [
        json!({"dataPlane": {"containerPort": {"http": 80, "https": 443}}}),
        json!({"tcp": {"53": "a/b:53"}}),
        json!({"udp": {"53": "a/b:53"}}),
    ] {
        let mut values = json!({"dataPlane": {"hostNetwork": true}});
        merge(&mut values, &ports);
        let error = format!("{:#}", objects(&values).unwrap_err());
        ensure!(
            error.contains("dataPlane.hostNetwork: a port ")
                && error.contains("set dataPlane.hostPort.enabled")
                && error.contains("NET_BIND_SERVICE"),
            "{error}"
        );
        let added = json!({"capabilities": {"add": ["NET_BIND_SERVICE"]}});
        merge(
            &mut values,
            &json!({"dataPlane": {"containerSecurityContext": added}}),
        );
        let pods = pods(&objects(&values)?);
        let pod = pods.iter().find(|pod| pod.is_data_plane());
        let spec = &pod.context("no data plane")?.spec;
        ensure!(spec["securityContext"]["sysctls"].is_null(), "{spec}");
        ensure!(spec["dnsPolicy"] == "ClusterFirstWithHostNet", "{spec}");
    }
    Ok(())
}

/// An API server refuses another `hostPort` than `containerPort` on the node's network, and adds it itself.
#[test]
fn pods_on_the_nodes_network_have_no_host_ports() -> Result<()> {
    let ports = json!({"http": 8080, "https": 8443});
    let values =
        json!({"dataPlane": {"hostNetwork": true, "hostPort": {"enabled": true, "ports": ports}}});
    for pod in pods(&objects(&values)?) {
        ensure!(!pod.spec.to_string().contains("hostPort"), "{}", pod.spec);
    }
    Ok(())
}
