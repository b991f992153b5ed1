//! Pictures for the documentation, of a site with something to see.

use std::net::SocketAddr;

use anyhow::Result;
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::echo::Echo;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Port;
use sluice_tests::script::Script;

use super::browser::Browser;
use super::{options, url};
use crate::fixture::Fixture;

/// Names, hosts, and annotations.
type Served = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const INGRESSES: &[Served] = &[
    (
        "cart",
        "shop.example",
        &[
            ("affinity", "cookie"),
            ("session-cookie-name", "cart"),
            ("sluice.dev/eject-after", "3"),
            ("sluice.dev/ejection-seconds", "60"),
            ("sluice.dev/slow-start", "60"),
        ],
    ),
    (
        "search",
        "search.example",
        &[("load-balance", "ewma"), ("proxy-read-timeout", "5")],
    ),
    (
        "api",
        "api.example",
        &[("limit-rps", "50"), ("enable-cors", "true")],
    ),
    (
        "images",
        "img.example",
        &[("upstream-hash-by", "$request_uri")],
    ),
    (
        "account",
        "account.example",
        &[("auth-type", "basic"), ("auth-secret", "users")],
    ),
    (
        "admin",
        "admin.example",
        &[("whitelist-source-range", "10.0.0.0/8")],
    ),
    (
        "legacy",
        "old.example",
        &[("permanent-redirect", "https://shop.example/")],
    ),
    ("upload", "upload.example", &[("proxy-body-size", "much")]),
    (
        "reports",
        "reports.example",
        &[("auth-type", "basic"), ("auth-secret", "gone")],
    ),
    (
        "blog",
        "blog.example",
        &[("server-snippet", "lua_code_cache off;")],
    ),
];

fn site(manifests: &Manifests, pods: &[Echo]) -> Result<()> {
    let all: Vec<SocketAddr> = pods.iter().map(Echo::addr).collect();
    manifests.service("default", "web", 80, &all[..2])?;
    manifests.service("default", "web-v2", 80, &all[2..3])?;
    manifests.service("default", "cart", 80, &all[3..5])?;
    for (name, host, annotations) in INGRESSES {
        let ingress = Ingress::new("default", name).host(host);
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        let service = if *name == "cart" { "cart" } else { "web" };
        manifests.ingress(&ingress.path("/", service, 80))?;
    }
    let canary = Ingress::new("default", "cart-v2").host("shop.example");
    let canary = canary.annotation("canary", "true");
    let canary = canary.annotation("canary-by-header", "X-Beta");
    let canary = canary.annotation("canary-weight", "20");
    manifests.ingress(&canary.path("/", "web-v2", 80))?;
    manifests.object(&serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": "default", "name": "users" },
        "stringData": { "auth": "ann:$apr1$x$SQFjT9W0lFA6wFZgdyKKi1" },
    }))?;
    for (name, host, days) in [("pay", "pay.example", 5), ("wiki", "wiki.example", 80)] {
        let secret = format!("{name}-tls");
        Pair::of_days(&[host], days)?.store(manifests, &secret)?;
        manifests.object(&presented(name, host, &secret))?;
    }
    Ok(())
}

/// Other tests check the pages; this one, that there is something to see.
#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_the_dashboard_show_a_site() -> Result<()> {
    let (fixture, port) = (Fixture::start(6, 0).await?, Port::reserve()?);
    site(&fixture.manifests, &fixture.pods)?;
    fixture.pods[4].script(Script::status(503));
    let sluice = options(&fixture, &port).start().await?;
    let cart: Vec<SocketAddr> = fixture.pods[3..].iter().map(Echo::addr).collect();
    fixture.manifests.endpoints("default", "cart", &cart)?;
    let hosts = [
        "shop.example",
        "search.example",
        "api.example",
        "img.example",
    ];
    for host in hosts.iter().cycle().take(160) {
        sluice.get(host, "/").await?;
    }
    let browser = Browser::start().await?;
    browser.client.goto(&url(&sluice)?).await?;
    browser.wait_for("main", "up to date").await?;
    browser.wait_for("main", "Ingresses with errors").await?;
    browser.picture("overview").await?;
    let at = |path: &str| format!("http://127.0.0.1:{}/{path}", port.number());
    for (path, expected, name) in [
        ("ingresses?sort=state", "canary, served", "ingresses"),
        ("ingresses/default/cart", "ejected by 1 worker", "ingress"),
        ("certificates", "4 days", "certificates"),
        (
            "explain?url=http%3A%2F%2Fshop.example%2Fcart",
            "by weight: 20% canary",
            "explain",
        ),
    ] {
        browser.client.goto(&at(path)).await?;
        browser.wait_for("main", expected).await?;
        browser.picture(name).await?;
    }
    browser.client.clone().close().await?;
    Ok(())
}
