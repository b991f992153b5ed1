//! As in a cluster: the controller and the data plane are strangers on a network until they show certificates.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane, Identity};
use sluice_tests::http;
use sluice_tests::ports::Port;
use sluice_tests::script::Script;
use sluice_tests::sluice::{self, Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};

/// One controller of a site, and who signs for whom.
struct Cluster {
    fixture: Fixture,
    authority: Authority,
    identity: Identity,
    http: Port,
    _xds: Port,
    controller: Sluice,
}

impl Cluster {
    async fn start(pods: u16) -> Result<Cluster> {
        let (fixture, authority) = (Fixture::start(pods, pods.into()).await?, Authority::new()?);
        let (http, xds) = (Port::reserve()?, Port::reserve()?);
        let identity = authority.identity(CONTROLLER)?;
        let controller = controller(&fixture, &identity, &http, &xds).await?;
        Ok(Cluster {
            fixture,
            authority,
            identity,
            http,
            _xds: xds,
            controller,
        })
    }

    async fn data_plane(&self, identity: &Identity) -> Result<DataPlane> {
        DataPlane::start(self.controller.xds().parse()?, identity).await
    }
}

async fn controller(
    fixture: &Fixture,
    identity: &Identity,
    http: &Port,
    xds: &Port,
) -> Result<Sluice> {
    let options = Options::new(&fixture.manifests)
        .without_data_plane()
        .http(http.addr());
    options
        .xds(xds.addr().to_string())
        .arguments(certificates(identity))
        .start()
        .await
}

fn certificates(identity: &Identity) -> Vec<String> {
    vec![
        "--xds-certificates".to_owned(),
        identity.folder().display().to_string(),
    ]
}

#[tokio::test]
async fn authenticated_data_plane_serves_and_follows_updates() -> Result<()> {
    let cluster = Cluster::start(3).await?;
    let identity = cluster.authority.identity("data-plane")?;
    let data_plane = cluster.data_plane(&identity).await?;
    data_plane.ready().await?;
    sluice::wait_for_status(cluster.http.addr(), HOST, "/", 200).await?;
    ensure_even_spread(cluster.http.addr(), &[0, 1, 2]).await?;
    cluster.fixture.endpoints(&[0, 2])?;
    cluster.fixture.wait_until_idle(1).await?;

    let metrics = data_plane.page("/metrics").await?.text();
    let polls = |line: &&str| {
        line.starts_with("envoy_cluster_upstream_rq_total{") && line.contains("sluice_controller")
    };
    let polls = metrics
        .lines()
        .find(polls)
        .context("no count of the filter's polls")?;
    ensure!(
        !polls.ends_with(" 0"),
        "the filter's log does not come over TLS: {polls}"
    );
    data_plane.stop()
}

#[tokio::test]
async fn each_state_of_the_way_to_the_controller_is_said_once() -> Result<()> {
    let (fixture, authority) = (Fixture::start(1, 1).await?, Authority::new()?);
    let (http, xds) = (Port::reserve()?, Port::reserve()?);
    let of_data_plane = authority.identity("data-plane")?;
    let data_plane = DataPlane::start(xds.addr(), &of_data_plane).await?;
    let said = async |text: &str| {
        let count = || {
            let lines = data_plane.log().lines();
            lines.iter().filter(|line| line.contains(text)).count()
        };
        let is_said = async || (count() > 0).then_some(());
        wait::until(&format!("{text:?} in the log"), is_said)
            .await
            .with_context(|| data_plane.log().tail())?;
        ensure!(count() == 1, "{}", data_plane.log().tail());
        Ok(())
    };
    let address = format!("the controller at localhost:{}", xds.number());
    said(&format!("cannot reach {address}: ")).await?;
    let identity = authority.identity(CONTROLLER)?;
    let controller = controller(&fixture, &identity, &http, &xds).await?;
    said(&format!("connected to {address}")).await?;
    data_plane.ready().await?;
    controller.stop()?;
    said(&format!("lost connection to {address}")).await?;
    sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;
    data_plane.stop()
}

#[tokio::test]
async fn untrusted_peers_neither_receive_nor_provide_configuration() -> Result<()> {
    let cluster = Cluster::start(1).await?;
    let stranger = Authority::new()?;

    // Believes our controller, but nobody who signs for it is known there.
    let intruder = stranger.identity("data-plane")?;
    fs::copy(
        cluster.identity.folder().join("ca.crt"),
        intruder.folder().join("ca.crt"),
    )?;
    let data_plane = cluster.data_plane(&intruder).await?;
    let refused = async || {
        cluster
            .controller
            .log()
            .tail()
            .contains("rejected")
            .then_some(())
    };
    wait::until("the controller to refuse", refused).await?;
    ensure!(data_plane.page("/readyz").await?.status == 503);

    // Is let in, but holds our controller for an impostor.
    let doubter = cluster.authority.identity("data-plane")?;
    fs::copy(
        intruder.folder().join("tls.crt"),
        doubter.folder().join("ca.crt"),
    )?;
    let data_plane = cluster.data_plane(&doubter).await?;
    let refused = async || {
        let metrics = data_plane.page("/metrics").await.ok()?.text();
        let failures =
            |line: &str| line.starts_with("envoy_cluster_ssl_fail_verify") && !line.ends_with(" 0");
        metrics.lines().any(failures).then_some(())
    };
    wait::until("the data plane to refuse", refused).await?;
    ensure!(data_plane.page("/readyz").await?.status == 503);
    Ok(())
}

#[tokio::test]
async fn renewed_xds_certificates_need_no_restart() -> Result<()> {
    let Cluster {
        fixture,
        authority,
        identity,
        http,
        _xds,
        controller: first,
    } = Cluster::start(1).await?;
    let of_one = authority.identity("data-plane")?;
    let one = DataPlane::start(first.xds().parse()?, &of_one).await?;
    one.ready().await?;

    // Everything new, the CA too: what still works then works with what is new.
    let authority = Authority::new()?;
    authority.renew(&identity, CONTROLLER)?;
    let taken = async || {
        first
            .log()
            .tail()
            .contains("xds: certificate reloaded")
            .then_some(())
    };
    wait::until("the controller to take the new certificate", taken).await?;
    let of_two = authority.identity("data-plane")?;
    let two = DataPlane::start(first.xds().parse()?, &of_two).await?;
    two.ready().await?;

    // Envoy's turn: its connections end with the controller, and the next one knows only the new CA.
    authority.renew(&of_one, "data-plane")?;
    two.stop()?;
    let xds = first.xds().to_owned();
    first.stop()?;
    let options = Options::new(&fixture.manifests)
        .without_data_plane()
        .http(http.addr())
        .xds(xds);
    let _second = options.arguments(certificates(&identity)).start().await?;
    fixture.manifests.remove("ingress-default-web.yaml")?;
    sluice::wait_for_status(http.addr(), HOST, "/", 404)
        .await
        .with_context(|| one.log().tail())?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminating_data_plane_becomes_unready_then_drains() -> Result<()> {
    let cluster = Cluster::start(1).await?;
    let identity = cluster.authority.identity("data-plane")?;
    let data_plane = cluster.data_plane(&identity).await?;
    data_plane.ready().await?;
    let (addr, pod) = (cluster.http.addr(), &cluster.fixture.pods[0]);
    sluice::wait_for_status(addr, HOST, "/", 200).await?;
    // Longer than the grace period, shorter than that and the drain.
    pod.script(Script::echo().delay(Duration::from_secs(2)));
    let before = pod.hits();
    let open = tokio::spawn(async move { http::send(addr, &page()).await });
    wait::until("the request to arrive", async || {
        (pod.hits() > before).then_some(())
    })
    .await?;
    pod.script(Script::echo());

    data_plane.terminate();
    let unready = async || {
        data_plane
            .page("/readyz")
            .await
            .ok()
            .filter(|page| page.status == 503)
    };
    wait::until("the data plane to say that it leaves", unready).await?;
    ensure!(
        http::get(addr, HOST, "/").await?.status == 200,
        "it stopped serving before anybody could know"
    );
    ensure!(open.await??.status == 200);
    data_plane.stop()
}

#[tokio::test]
async fn unauthenticated_xds_over_tcp_is_rejected() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    // A proxy on this machine reaches loopback as well.
    for address in ["0.0.0.0:1", "127.0.0.1:1", "[::1]:1"] {
        let refused = Options::new(&fixture.manifests)
            .without_data_plane()
            .xds(address)
            .start()
            .await;
        let error = format!("{:#}", refused.err().context("it started")?);
        for way in ["--xds-certificates", "unix:PATH", "--xds-plaintext"] {
            ensure!(error.contains(way), "{address}: {error}");
        }
    }
    Ok(())
}
