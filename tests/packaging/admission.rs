//! The webhook: the API server finds it, believes it, and the controller has what it needs for that.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cases::cases;
use crate::chart::{NAMESPACE, notes, objects};
use crate::pods::pods;

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects
        .iter()
        .find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// The arguments of the container of this name, in whatever pod.
fn arguments(objects: &[Value], container: &str) -> Vec<String> {
    let pods = pods(objects);
    let containers = pods
        .iter()
        .flat_map(|pod| pod.containers().collect::<Vec<_>>());
    let found = containers.filter(|found| found["name"] == container);
    let args = found.flat_map(|found| found["args"].as_array().into_iter().flatten());
    args.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn value_of(arguments: &[String], flag: &str) -> Option<String> {
    let prefix = format!("--{flag}=");
    arguments
        .iter()
        .find_map(|argument| argument.strip_prefix(&prefix).map(str::to_owned))
}

#[test]
fn webhook_service_targets_a_port_of_the_controller() -> Result<()> {
    for (case, values) in cases()
        .into_iter()
        .filter(|(case, _)| *case != "no admission")
    {
        let objects = objects(&values)?;
        let webhook = named(
            &objects,
            "ValidatingWebhookConfiguration",
            "sluice-admission",
        )
        .context(case)?;
        let client = &webhook["webhooks"][0]["clientConfig"]["service"];
        let name = client["name"].as_str().context("no name")?;
        ensure!(client["namespace"] == NAMESPACE, "{case}: {client}");
        let service = named(&objects, "Service", name)
            .with_context(|| format!("{case}: no Service {name}"))?;
        let mut ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let port = ports
            .find(|port| port["port"] == client["port"])
            .context("no such port")?;
        ensure!(port["targetPort"] == "admission", "{case}: {port}");
        let listens =
            value_of(&arguments(&objects, "controller"), "validating-webhook").context(case)?;
        let pods = pods(&objects);
        let mut containers = pods
            .iter()
            .flat_map(|pod| pod.containers().collect::<Vec<_>>());
        let has = |container: &Value| {
            let mut ports = container["ports"].as_array().into_iter().flatten();
            ports.any(|port| {
                port["name"] == "admission" && listens == format!(":{}", port["containerPort"])
            })
        };
        ensure!(containers.any(has), "{case}: nobody listens on {listens}");
    }
    Ok(())
}

#[test]
fn webhook_certificate_matches_its_service_and_mount() -> Result<()> {
    let objects = objects(&json!({}))?;
    let job = arguments(&objects, "certgen");
    ensure!(
        value_of(&job, "host") == Some(format!("sluice-controller.{NAMESPACE}.svc")),
        "{job:?}"
    );
    ensure!(
        value_of(&job, "webhook-name").as_deref() == Some("sluice-admission"),
        "{job:?}"
    );
    let secret = value_of(&job, "secret-name").context("no secret")?;
    let controller = arguments(&objects, "controller");
    for (made, read) in [
        ("cert-name", "validating-webhook-certificate"),
        ("key-name", "validating-webhook-key"),
    ] {
        let entry = value_of(&job, made).context(made)?;
        let path = value_of(&controller, read).context(read)?;
        ensure!(path == format!("/etc/sluice/admission/{entry}"), "{path}");
    }
    let text = serde_json::to_string(&pods(&objects)[1].spec)?;
    ensure!(
        text.contains(&format!("\"secretName\":\"{secret}\"")),
        "{secret} is not mounted: {text}"
    );
    Ok(())
}

#[test]
fn scoped_webhook_covers_only_its_namespace() -> Result<()> {
    let scoped =
        objects(&json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}}}))?;
    let webhook = named(
        &scoped,
        "ValidatingWebhookConfiguration",
        "sluice-admission",
    )
    .context("no webhook")?;
    let expected = json!({"matchLabels": {"kubernetes.io/metadata.name": "shop"}});
    ensure!(
        webhook["webhooks"][0]["namespaceSelector"] == expected,
        "{webhook}"
    );
    Ok(())
}

#[test]
fn disabled_admission_renders_no_objects() -> Result<()> {
    let objects = objects(&json!({
        "controller": {"admission": {"enabled": false}},
        "xds": {"certificates": "existing"},
    }))?;
    let text = serde_json::to_string(&objects)?;
    for word in ["admission", "certgen", "validating"] {
        ensure!(!text.contains(word), "{word}");
    }
    Ok(())
}

#[test]
fn notes_name_the_certificate_job() -> Result<()> {
    let said = notes(&json!({}))?;
    ensure!(
        said.contains("Until the Job sluice-certgen-... is done")
            && said.contains("no Ingress can be stored")
    );
    let said = notes(&json!({"controller": {"admission": {"failurePolicy": "Ignore"}}}))?;
    ensure!(!said.contains("no Ingress can be stored"), "{said}");
    for (case, values) in cases() {
        notes(&values).context(case)?;
    }
    Ok(())
}

/// Two releases in one namespace, or ingress-nginx beside ours, have leaders of their own.
#[test]
fn lease_is_per_release_and_covered_by_the_role() -> Result<()> {
    let is_ours = |values: &Value| values["rbac"]["create"] != false;
    for (case, values) in cases().into_iter().filter(|(_, values)| is_ours(values)) {
        let objects = objects(&values)?;
        let lease = value_of(&arguments(&objects, "controller"), "election-id").context(case)?;
        ensure!(lease == "sluice-leader", "{lease}");
        let role = named(&objects, "Role", "sluice-controller-own").context(case)?;
        let rules = role["rules"].as_array().into_iter().flatten();
        let mut leases = rules.filter(|rule| rule["resources"] == json!(["leases"]));
        ensure!(
            leases.any(|rule| rule["resourceNames"] == json!([lease])),
            "{case}: {role}"
        );
    }
    Ok(())
}

#[test]
fn controller_follows_the_config_map_of_the_chart() -> Result<()> {
    let objects =
        objects(&json!({"controller": {"config": {"proxy-body-size": "8m", "hsts": false}}}))?;
    let flag = value_of(&arguments(&objects, "controller"), "configmap").context("no flag")?;
    ensure!(flag == format!("{NAMESPACE}/sluice-controller"), "{flag}");
    let map = named(&objects, "ConfigMap", "sluice-controller").context("no ConfigMap")?;
    ensure!(
        map["data"] == json!({"proxy-body-size": "8m", "hsts": "false"}),
        "{map}"
    );
    Ok(())
}
