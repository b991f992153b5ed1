//! The chart in the hands of Helm itself.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sluice_tests::artifacts;

use crate::cases::cases;
use crate::chart::{NAMESPACE, documents, folder, objects};

fn helm(arguments: &[&str], values: &Value) -> Result<Output> {
    let home = tempfile::tempdir()?;
    let file = home.path().join("values.json");
    fs::write(&file, values.to_string())?;
    let mut command = Command::new(artifacts::helm()?);
    // Neither plugins nor settings of this machine.
    for variable in [
        "HELM_CACHE_HOME",
        "HELM_CONFIG_HOME",
        "HELM_DATA_HOME",
        "HOME",
    ] {
        command.env(variable, home.path());
    }
    command
        .args(arguments)
        .arg(folder())
        .arg("--values")
        .arg(&file);
    command.output().context("helm")
}

pub(crate) fn template(values: &Value) -> Result<Output> {
    helm(&["template", "--namespace", NAMESPACE, "sluice"], values)
}

pub(crate) fn text(output: &Output) -> Result<String> {
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{error}");
    Ok(String::from_utf8(output.stdout.clone())?)
}

/// Objects by kind, namespace and name.
pub(crate) fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        format!(
            "{} {}/{}",
            object["kind"], metadata["namespace"], metadata["name"]
        )
    };
    objects
        .into_iter()
        .map(|object| (name(&object), object))
        .collect()
}

#[test]
fn helm_renders_what_the_tests_render() -> Result<()> {
    for (case, values) in cases() {
        let rendered = text(&template(&values)?).with_context(|| case.to_owned())?;
        assert_eq!(
            by_name(documents(&rendered)?),
            by_name(objects(&values)?),
            "{case}"
        );
    }
    Ok(())
}

#[test]
fn helm_lints_the_chart_without_a_remark() -> Result<()> {
    for (case, values) in cases() {
        let said = text(&helm(
            &["lint", "--strict", "--namespace", NAMESPACE],
            &values,
        )?)?;
        let remark = ["[INFO]", "[WARNING]", "[ERROR]"]
            .iter()
            .any(|level| said.contains(level));
        ensure!(!remark, "{case}: {said}");
    }
    Ok(())
}

/// GitOps compares what is rendered with what was.
#[test]
fn two_renderings_of_helm_are_the_same_bytes() -> Result<()> {
    for (case, values) in cases() {
        let (first, second) = (text(&template(&values)?)?, text(&template(&values)?)?);
        ensure!(first == second, "{case}");
    }
    Ok(())
}

#[test]
fn helm_refuses_values_that_the_chart_does_not_have_and_names_them() -> Result<()> {
    for (values, name) in [
        (json!({"controller": {"replicas": 3}}), "replicas"),
        (
            json!({"dataPlane": {"service": {"internal": {"typ": "NodePort"}}}}),
            "typ",
        ),
        (json!({"dataPlane": {"hostPort": true}}), "hostPort"),
        (json!({"xds": {"certificates": "generate"}}), "certificates"),
        (json!({"tcp": {"redis": "default/redis:6379"}}), "tcp"),
        // Those of ingress-nginx's chart, with where they are here.
        (
            json!({"controller": {"hostNetwork": true}}),
            "here it is dataPlane.hostNetwork",
        ),
        (
            json!({"controller": {"service": {"type": "NodePort"}}}),
            "here it is below dataPlane.service",
        ),
        (json!({"tcp": {"9000": "redis"}}), "9000"),
    ] {
        ensure_refused(&values, name)?;
    }
    Ok(())
}

fn ensure_refused(values: &Value, name: &str) -> Result<()> {
    let output = template(values)?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && error.contains(name),
        "{values}: {error}"
    );
    Ok(())
}

/// Errors of an API server would come after the install has begun.
#[test]
fn helm_refuses_names_and_values_that_kubernetes_does_not_take() -> Result<()> {
    let class = |class: Value| json!({"controller": {"ingressClassResource": class}});
    for (values, name) in [
        (json!({"fullnameOverride": "My_Edge"}), "/fullnameOverride"),
        (class(json!({"name": "a_b"})), "/ingressClassResource/name"),
        (
            class(json!({"controllerValue": "nginx"})),
            "/ingressClassResource/controllerValue",
        ),
        (
            class(json!({"aliases": ["A"]})),
            "/ingressClassResource/aliases",
        ),
        (json!({"xds": {"port": 443}}), "/xds/port"),
        (json!({"portNamePrefix": "a--"}), "/portNamePrefix"),
        (json!({"commonLabels": {"a": ["b"]}}), "/commonLabels/a"),
        (
            json!({"dataPlane": {"annotations": {"a": {"b": "c"}}}}),
            "/dataPlane/annotations/a",
        ),
        (
            json!({"controller": {"extraArgs": {"v": [1]}}}),
            "/controller/extraArgs/v",
        ),
        // By templates, which Helm runs with numbers of its own types.
        (
            json!({"dataPlane": {"containerPort": {"http": 8443}}}),
            "dataPlane.containerPort.https: the data plane listens there already",
        ),
        (
            json!({"dataPlane": {"terminationGracePeriodSeconds": 255}}),
            "dataPlane.terminationGracePeriodSeconds: expected more than",
        ),
    ] {
        ensure_refused(&values, name)?;
    }
    Ok(())
}

/// A values file with most of what people set.
const THEIRS: &str = "
controller:
  kind: DaemonSet
  replicaCount: 3
  config: {use-gzip: 'true', proxy-body-size: 8m}
  allowSnippetAnnotations: true
  proxySetHeaders: {X-Edge: '1'}
  ingressClassResource: {name: internal, controllerValue: k8s.io/internal, default: true, aliases: [edge]}
  ingressClass: internal
  extraArgs: {default-ssl-certificate: default/wildcard, enable-ssl-passthrough: '', tcp-services-configmap: a/b, v: 2}
  hostPort: {enabled: true}
  service:
    type: NodePort
    externalTrafficPolicy: ''
    nodePorts: {http: '30080', https: 30443, tcp: {'9000': 30900}}
    internal: {enabled: true, type: LoadBalancer, annotations: {a: b}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 1}}
  tolerations: [{operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  resources: {requests: {cpu: 1}}
  metrics: {enabled: true, serviceMonitor: {enabled: true, additionalLabels: {release: prometheus}, scrapeInterval: 15s}}
  admissionWebhooks: {certManager: {enabled: true}, failurePolicy: Ignore}
  minAvailable: 2
defaultBackend: {enabled: true, image: {repository: example.com/errors, tag: 7}, service: {servicePort: 81}}
serviceAccount: {name: edge}
tcp: {'9000': default/redis:6379}
";

#[test]
fn values_of_ingress_nginx_are_values_of_the_chart_once_they_are_converted() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), THEIRS)?;
    let mut command = Command::new(artifacts::sluice()?);
    let output = command.arg("values").arg(file.path()).output()?;
    let converted = text(&output)?;
    let values: Value = serde_saphyr::from_str(&converted).context(converted.clone())?;
    let objects = by_name(documents(&text(&template(&values)?)?)?);
    let names = [
        "\"DaemonSet\" \"sluice-system\"/\"sluice-data-plane\"",
        "\"Service\" \"sluice-system\"/\"sluice-data-plane-internal\"",
        "\"IngressClass\" null/\"internal\"",
        "\"IngressClass\" null/\"edge\"",
        "\"ServiceMonitor\" \"sluice-system\"/\"sluice-controller\"",
        "\"Deployment\" \"sluice-system\"/\"sluice-default-backend\"",
    ];
    for name in names {
        ensure!(objects.contains_key(name), "{name}: {converted}");
    }
    let args = objects.values().map(Value::to_string).collect::<String>();
    for flag in [
        "--enable-metrics=true",
        "--default-ssl-certificate=default/wildcard",
        "--ingress-class=internal",
    ] {
        ensure!(args.contains(flag), "{flag}: {converted}");
    }
    Ok(())
}
