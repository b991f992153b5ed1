//! Certificates from Secrets: what hosts present changes without a reload, and nobody else sees a key.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{Pair, presented, presents};
use sluice_tests::connection::Connection;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST, page};
use crate::managed::reloads;
use crate::scenarios::certificate_rotation::{Clients, ManyHosts, Rotation};
use crate::scenarios::{ciphers, upstream_tls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_certificate_needs_no_reload() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture.manifests.object(&presented("web", HOST, "exact"))?;
    fixture
        .manifests
        .object(&presented("wild", "*.wild.test", "wild"))?;
    Pair::renew(&fixture.manifests, "exact", &[HOST])?;
    let wild = Pair::renew(&fixture.manifests, "wild", &["*.wild.test"])?;
    let default = Pair::renew(&fixture.manifests, "default", &["default.test"])?;
    let arguments = ["--default-ssl-certificate", "default/default"]
        .map(str::to_owned)
        .into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .start()
        .await?;
    presents(&sluice, "a.wild.test", &wild).await?;
    for nobodys in ["b.a.wild.test", "wild.test", "nobody.test"] {
        presents(&sluice, nobodys, &default).await?;
    }
    for _ in 0..3 {
        let exact = Pair::renew(&fixture.manifests, "exact", &[HOST])?;
        presents(&sluice, HOST, &exact).await?;
    }
    let mut connection = Connection::open_tls(sluice.https(), HOST).await?;
    ensure!(connection.send(&page()).await?.status == 200);
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_key_is_only_in_a_private_file() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture.manifests.object(&presented("web", HOST, "exact"))?;
    let exact = Pair::renew(&fixture.manifests, "exact", &[HOST])?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    presents(&sluice, HOST, &exact).await?;
    let folder = sluice.run_dir().join("nginx");
    let secret = exact.key.lines().nth(1).context("a key")?.to_owned();
    ensure!(!fs::read_to_string(folder.join("nginx.conf"))?.contains(&secret));
    ensure!(
        !sluice
            .log()
            .lines()
            .iter()
            .any(|line| line.contains(&secret))
    );
    let mode = |path| fs::metadata(path).map(|data| data.permissions().mode() & 0o777);
    ensure!(mode(folder.join("certificates"))? == 0o700);
    for file in fs::read_dir(folder.join("certificates"))? {
        ensure!(mode(file?.path())? == 0o600);
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_renewal_keeps_open_connections() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().data_plane("nginx").start().await?;
    rotation.renews_without_closing_connections(&sluice).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_or_deleted_secret_falls_back_to_the_default_certificate() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().data_plane("nginx").start().await?;
    let clients = Clients::connect(&sluice).await?;
    rotation.falls_back_and_recovers(&sluice, clients).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

/// Without a redirect to https, nothing but the handshake differs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adding_and_removing_a_certificate_needs_no_reload() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let plain = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let plain = plain.annotation("ssl-redirect", "false");
    fixture.manifests.ingress(&plain)?;
    let default = Pair::renew(&fixture.manifests, "default", &["default.test"])?;
    let own = Pair::renew(&fixture.manifests, "own", &[HOST])?;
    let arguments = ["--default-ssl-certificate", "default/default"]
        .map(str::to_owned)
        .into();
    let sluice = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .start()
        .await?;
    let mut connection = Connection::open_tls(sluice.https(), HOST).await?;
    for _ in 0..2 {
        presents(&sluice, HOST, &default).await?;
        let mut with = plain.to_json();
        with["spec"]["tls"] = json!([{"hosts": [HOST], "secretName": "own"}]);
        fixture.manifests.object(&with)?;
        presents(&sluice, HOST, &own).await?;
        ensure!(connection.send(&page()).await?.status == 200);
        fixture.manifests.ingress(&plain)?;
    }
    presents(&sluice, HOST, &default).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_hosts_present_their_own_certificates() -> Result<()> {
    let many = ManyHosts::start().await?;
    let sluice = Options::new(&many.fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    many.present_own_certificates(&sluice).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_accepts_only_its_ssl_ciphers() -> Result<()> {
    ciphers::hosts_accept_their_ciphers("nginx").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_tls_offers_what_an_ingress_says() -> Result<()> {
    upstream_tls::pods_are_offered_what_their_ingress_says("nginx").await
}
