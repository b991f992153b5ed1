//! The chart gives the controller the rights that it uses: none is missing, and none is too many.
//!
//! `tests/packaging/rbac.txt` says what the chart gives; the gate says what was asked for.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::gate::Asked;
use sluice_tests::artifacts::repository;
use sluice_tests::sluice::{Options, Sluice};

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, addresses, web_ingress};

/// `group/resource verb`, and for what has names of its own `group/resource/name verb`.
type Permissions = BTreeSet<String>;

/// The rights of roles below this title, in lines like `  group/resource [names]: verbs`.
fn granted(title: &str, is_wanted: fn(&str) -> bool) -> Result<Permissions> {
    let text = fs::read_to_string(repository().join("tests/packaging/rbac.txt"))?;
    let (_, rest) = text
        .split_once(&format!("# {title}\n"))
        .context("no such title")?;
    let mut rights = Permissions::new();
    let mut is_in = false;
    for line in rest.split("\n# ").next().unwrap_or_default().lines() {
        if !line.starts_with(' ') {
            is_in = is_wanted(line);
        }
        if !is_in {
            continue;
        }
        let Some((resource, rest)) = line.trim().split_once(" [") else {
            continue;
        };
        let (names, verbs) = rest.split_once("]: ").with_context(|| line.to_owned())?;
        let names: Vec<&str> = if names.is_empty() {
            vec![""]
        } else {
            names.split(' ').collect()
        };
        for (name, verb) in names
            .iter()
            .flat_map(|name| verbs.split(' ').map(move |verb| (name, verb)))
        {
            let name = if name.is_empty() {
                String::new()
            } else {
                format!("/{name}")
            };
            rights.insert(format!("{resource}{name} {verb}"));
        }
    }
    Ok(rights)
}

/// The right that a request needs, in the same words.
fn required(asked: &Asked) -> Result<(String, Option<String>)> {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => anyhow::bail!("{asked:?}"),
    };
    let rest = if let ["namespaces", _, rest @ ..] = rest {
        rest
    } else {
        rest
    };
    let (resource, name) = match rest {
        [resource] => ((*resource).to_owned(), None),
        [resource, name] => ((*resource).to_owned(), Some((*name).to_owned())),
        [resource, name, part] => (format!("{resource}/{part}"), Some((*name).to_owned())),
        _ => anyhow::bail!("{asked:?}"),
    };
    let verb = match (asked.method.as_str(), &name) {
        ("GET", None) if query.contains("watch=true") => "watch",
        ("GET", None) => "list",
        ("GET", Some(_)) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        _ => "another",
    };
    Ok((
        format!("{group}/{resource} {verb}"),
        name.map(|name| format!("{group}/{resource}/{name} {verb}")),
    ))
}

fn ensure_used_exactly(asked: &[Asked], granted: &Permissions) -> Result<()> {
    let mut used = Permissions::new();
    // Everybody may ask for the version (ClusterRole system:public-info-viewer).
    let of_resources = |asked: &&Asked| asked.target != "/version";
    for asked in asked.iter().filter(of_resources) {
        let (general, named) = required(asked)?;
        let permission = [Some(general), named]
            .into_iter()
            .flatten()
            .find(|permission| granted.contains(permission));
        used.insert(permission.with_context(|| format!("the chart does not allow {asked:?}"))?);
    }
    let unused: Vec<&String> = granted.difference(&used).collect();
    ensure!(
        unused.is_empty(),
        "the chart gives rights that nobody uses: {unused:?}"
    );
    Ok(())
}

/// Everything that the controller does: something wrong to tell, something to read, and a status to write.
async fn populate(cluster: &Cluster) -> Result<()> {
    let metadata = |name: &str| json!({ "namespace": cluster.namespace(), "name": name });
    for kind in ["Secret", "ConfigMap"] {
        cluster
            .apply(&json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata("named") }))
            .await?;
    }
    let ingress = web_ingress(cluster, "web", "web.test").annotation("proxy-read-timeout", "soon");
    let mut ingress = ingress.annotation("custom-headers", "named").to_json();
    ingress["spec"]["tls"] = json!([{ "secretName": "named" }]);
    cluster.apply(&ingress).await?;
    let mut own = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata("sluice-0") });
    own["metadata"]["labels"] =
        json!({ "app": "sluice", "app.kubernetes.io/component": "data-plane" });
    own["spec"] = json!({ "nodeName": "a", "containers": [{ "name": "none", "image": "registry.invalid/none" }] });
    cluster.apply(&own).await
}

/// Two starts: what is told again is told otherwise than what is new.
async fn run_controllers(cluster: &Cluster, more: &[&str]) -> Result<()> {
    populate(cluster).await?;
    for count in 1..=2 {
        let arguments = more.iter().map(|flag| (*flag).to_owned()).collect();
        let sluice = Options::in_cluster(cluster)
            .arguments(arguments)
            .without_data_plane()
            .start()
            .await?;
        wait_until_done(cluster, &sluice, count).await?;
        sluice.stop()?;
    }
    Ok(())
}

async fn wait_until_done(cluster: &Cluster, sluice: &Sluice, count: u64) -> Result<()> {
    let place = (NETWORKING, "Ingress", "web");
    cluster
        .wait_for(place, "to have an address", |object| {
            addresses(object) == ["192.0.2.9"]
        })
        .await?;
    let probe = async || {
        let events = cluster.list("v1", "Event").await.ok()?;
        events
            .iter()
            .any(|event| event["count"] == count)
            .then_some(())
    };
    sluice_tests::wait::until(&format!("an Event with count {count}"), probe).await?;
    sluice.log().wait_for("published").await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn chart_grants_exactly_the_permissions_in_use() -> Result<()> {
    grants_what_is_used("By default", &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_weights_need_their_own_permission() -> Result<()> {
    grants_what_is_used("With controller.podWeights", &["--pod-weights"]).await
}

async fn grants_what_is_used(title: &str, flags: &[&str]) -> Result<()> {
    on_each_apiserver(async |cluster| {
        cluster.apply(&json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "namespace": cluster.namespace(), "name": "sluice-data-plane" },
            "spec": { "type": "NodePort", "externalIPs": ["192.0.2.9"], "ports": [{ "name": "http", "port": 80 }] },
        }))
        .await?;
        let service = format!("--publish-service={}/sluice-data-plane", cluster.namespace());
        let flags: Vec<&str> = flags.iter().copied().chain([service.as_str(), "--election-id=sluice-leader"]).collect();
        run_controllers(cluster, &flags).await?;
        // Jobs that make certificates have rights of their own.
        let granted = granted(title, |role| !role.contains("certgen"))?;
        ensure_used_exactly(&cluster.gate().asked(), &granted)
    })
    .await
}

/// Makes both Secrets, and again when one is lost.
#[tokio::test(flavor = "multi_thread")]
async fn job_for_xds_certificates_has_exactly_the_permissions_in_use() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let secrets = ["sluice-xds-controller", "sluice-xds-data-plane"];
        let run = async || cluster.certgen_xds("sluice.example", secrets).await;
        run().await?;
        for secret in secrets {
            cluster.delete("v1", "Secret", secret).await?;
            run().await?;
        }
        let granted = granted("By default", |role| role.contains("certgen-xds"))?;
        ensure!(!granted.is_empty(), "no such role");
        ensure_used_exactly(&cluster.gate().asked(), &granted)
    })
    .await
}
