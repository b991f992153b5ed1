//! TLS towards clients.

use anyhow::{Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, service};
use sluice_tests::sluice::Sluice;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::{ciphers, upstream_tls};

#[tokio::test]
async fn https_serves_the_same_routes_with_the_fallback_certificate() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut connection = Connection::open_tls(sluice.https(), HOST).await?;
    let found = connection.send(&Request::get(HOST, "/")).await?;
    ensure!(found.pod() == Some("web-0"), "{found:?}");
    let missing = connection.send(&Request::get("nobody.test", "/")).await?;
    ensure!(missing.status == 404, "{missing:?}");
    sluice.stop()
}

#[tokio::test]
async fn redirects_and_preflights_need_no_endpoints() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture
        .manifests
        .object(&service("default", "empty", 80, &[]))?;
    let empty = |name: &str| {
        Ingress::new("default", name)
            .host(&format!("{name}.test"))
            .path("/", "empty", 80)
    };
    fixture
        .manifests
        .ingress(&empty("moved").annotation("force-ssl-redirect", "true"))?;
    fixture
        .manifests
        .ingress(&empty("asked").annotation("enable-cors", "true"))?;
    fixture.manifests.ingress(&empty("plain"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    sluice.wait_for_status("plain.test", "/", 503).await?;
    let moved = sluice.get("moved.test", "/a").await?;
    ensure!(moved.status == 308, "{moved:?}");
    let preflight =
        Request::new("OPTIONS", "asked.test", "/").header("origin", "http://elsewhere.test");
    let preflight = preflight.header("access-control-request-method", "GET");
    let answer = http::send(sluice.http(), &preflight).await?;
    ensure!(answer.status == 204, "{answer:?}");
    sluice.stop()
}

#[tokio::test]
async fn host_accepts_only_its_ssl_ciphers() -> Result<()> {
    ciphers::hosts_accept_their_ciphers("envoy").await
}

#[tokio::test]
async fn upstream_tls_offers_what_an_ingress_says() -> Result<()> {
    upstream_tls::pods_are_offered_what_their_ingress_says("envoy").await
}
