//! Names of headers: what a data plane does not let anybody set or take away is honoured in another way or reported by name,
//! wherever a header can be named.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::Response;
use sluice_tests::manifests::Ingress;

use super::{ensure_changes_are_accepted, ensure_reported, neighbour};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    no_header_name_blocks_updates,
    pods_see_the_host_set_by_the_operator
);

/// Reserved headers, with their reports.
const RESERVED: &[(&str, &str)] = &[
    ("Host", "headers other than Host"),
    ("hOST", "headers other than Host"),
    (
        "Content-Length",
        "headers that do not say where a message ends",
    ),
    (
        "Transfer-Encoding",
        "headers that do not say where a message ends",
    ),
    (
        "x-sluice-trust",
        "other than x-sluice-*, x-envoy-* and CDN-Loop",
    ),
    (
        "X-Envoy-Max-Retries",
        "other than x-sluice-*, x-envoy-* and CDN-Loop",
    ),
    (":authority", "names of headers"),
    ("a b", "names of headers"),
];

fn config_map(namespace: &str, name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": namespace, "name": name }, "data": data })
}

/// A ConfigMap with headers that are kept, but for those that are left out, and a good one.
fn headers(namespace: &str, without: &str) -> Value {
    let reserved = RESERVED
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(without));
    let mut data: serde_json::Map<_, _> = reserved
        .map(|(name, _)| ((*name).to_owned(), json!("evil")))
        .collect();
    data.insert("X-Good".to_owned(), json!("yes"));
    config_map(namespace, "headers", data.into())
}

fn names() -> String {
    let names: Vec<&str> = RESERVED
        .iter()
        .map(|(name, _)| *name)
        .chain(["X-Good"])
        .collect();
    names.join(",")
}

fn received(answer: &Response, header: &str) -> Result<Option<String>> {
    Ok(answer.json()?["headers"][header][0]
        .as_str()
        .map(str::to_owned))
}

/// Names of headers wherever an operator or a tenant can write them.
fn write_every_header(tenants: &Tenants) -> Result<()> {
    tenants.manifests.object(&headers(OWNER, ""))?;
    tenants.manifests.object(&headers(FOREIGN, ""))?;
    let settings = json!({
        "proxy-set-headers": "owner/headers", "add-headers": "owner/headers", "hide-headers": names(),
        "global-allowed-response-headers": names(),
    });
    tenants
        .manifests
        .object(&config_map(OWNER, "settings", settings))?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let root = |name: &str| {
        Ingress::new(FOREIGN, name)
            .host(&format!("{name}.test"))
            .path("/", "web", 80)
    };
    tenants
        .manifests
        .ingress(&root("custom").annotation("custom-headers", "foreign/headers"))?;
    let asked = |name: &str| root(name).annotation("auth-url", "http://auth.example/");
    tenants
        .manifests
        .ingress(&asked("answered").annotation("auth-response-headers", "Host"))?;
    tenants
        .manifests
        .ingress(&asked("asking").annotation("auth-proxy-set-headers", "headers"))?;
    Ok(())
}

async fn no_header_name_blocks_updates(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    write_every_header(&tenants)?;
    let flags = ["--configmap", "owner/settings"].map(str::to_owned).into();
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flags)
        .start()
        .await?;

    let answer = sluice.get("own.test", "/").await?;
    ensure!(
        answer.pod() == Some(OWNER) && answer.headers("x-good").eq(["yes"]),
        "{answer:?}"
    );
    ensure!(
        received(&answer, "x-good")?.as_deref() == Some("yes"),
        "{}",
        answer.text()
    );
    ensure!(
        answer.headers.iter().all(|(_, value)| value != "evil"),
        "{answer:?}"
    );
    for (name, why) in RESERVED {
        for key in ["add-headers", "hide-headers", "proxy-set-headers"] {
            // `evil` is a good name of a host.
            if key != "proxy-set-headers" || !name.eq_ignore_ascii_case("host") {
                ensure_reported(&sluice, &format!("data.{key}: "), &[*why])?;
            }
        }
    }
    // What guards access closes its paths.
    for host in ["answered.test", "asking.test"] {
        ensure!(sluice.get(host, "/").await?.status == 503, "{host}");
    }
    ensure!(sluice.get("custom.test", "/").await?.status == 503);
    ensure_reported(
        &sluice,
        "Ingress foreign/custom: ",
        &["headers other than Host, got \"Host: evil\""],
    )?;
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

/// In `proxy-set-headers`, as in ingress-nginx; a route may say another one.
async fn pods_see_the_host_set_by_the_operator(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let data = json!({ "Host": "inside.example", "X-Asked": "$host" });
    tenants
        .manifests
        .object(&config_map(OWNER, "headers", data))?;
    tenants.manifests.object(&config_map(
        OWNER,
        "settings",
        json!({ "proxy-set-headers": "owner/headers" }),
    ))?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let other = neighbour("other.test").annotation("upstream-vhost", "theirs.example");
    tenants.manifests.ingress(&other)?;
    let flags = ["--configmap", "owner/settings"].map(str::to_owned).into();
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(flags)
        .start()
        .await?;
    for (host, seen) in [
        ("own.test", "inside.example"),
        ("other.test", "theirs.example"),
    ] {
        let answer = sluice.get(host, "/").await?;
        ensure!(
            received(&answer, "host")?.as_deref() == Some(seen),
            "{host}: {}",
            answer.text()
        );
        ensure!(
            received(&answer, "x-asked")?.as_deref() == Some(host),
            "{host}: {}",
            answer.text()
        );
    }
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}
