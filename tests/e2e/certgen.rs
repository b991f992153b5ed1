//! The chart's way: a Job makes the certificates of controller and data plane, and both listen on all addresses.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::data_plane::{CONTROLLER, DataPlane, Identity};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options};

use crate::fixture::{Fixture, HOST};

const SECRETS: [&str; 2] = ["xds-controller", "xds-data-plane"];

async fn secret(cluster: &Cluster, name: &str) -> Result<Value> {
    let secret = cluster.get("v1", "Secret", name).await?;
    secret.with_context(|| format!("no Secret {name}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_the_job_connect_an_envoy_that_serves_ipv4_and_ipv6() -> Result<()> {
    let cluster = Cluster::fake().await?;
    cluster.certgen_xds(CONTROLLER, SECRETS).await?;
    let [ours, envoys] = SECRETS.map(|name| secret(&cluster, name));
    let (ours, envoys) = (ours.await?, envoys.await?);
    cluster.certgen_xds(CONTROLLER, SECRETS).await?;
    ensure!(secret(&cluster, SECRETS[0]).await? == ours, "made twice");
    let (ours, envoys) = (
        Identity::from_secret(&ours)?,
        Identity::from_secret(&envoys)?,
    );

    let fixture = Fixture::start(1, 1).await?;
    let (http, xds) = (Port::reserve()?, Port::reserve()?);
    let folder = ours.folder().display().to_string();
    let arguments = vec![
        "--bind-address=all".to_owned(),
        format!("--xds-certificates={folder}"),
        // The last one counts.
        format!("--xds-address=:{}", xds.number()),
    ];
    let options = Options::new(&fixture.manifests).without_data_plane();
    let options = options.http(http.addr()).on_all_addresses();
    let options = options.xds(xds.addr().to_string()).arguments(arguments);
    let _controller = options.start().await?;
    let data_plane = DataPlane::start(xds.addr(), &envoys).await?;
    data_plane.ready().await?;
    sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;
    let listed = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    if !listed.trim().is_empty() {
        let of_ipv6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), http.number());
        sluice::wait_for_status(of_ipv6, HOST, "/", 200).await?;
    }
    data_plane.stop()
}
