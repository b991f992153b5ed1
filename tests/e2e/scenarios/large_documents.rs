//! Documents of more than 1 MiB, where buffers of data planes end by default, come by their poll.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_filter_config::{PluginConfig, Route, SCHEMA, Snapshot, Tables, Version};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::fake::backend;
use sluice_tests::manifests::{Ingress, Manifests, endpoint_slice, service};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

const BIG: &str = "big.test";
const PODS: u16 = 32_000;
/// The most that Kubernetes allows.
const PODS_OF_A_SLICE: usize = 1_000;
/// For a controller without optimization.
const LIMIT: Duration = Duration::from_secs(60);

/// One process that answers at each address of a network, and says which network that is.
async fn pods(network: &Network, name: &str) -> Result<Echo> {
    let everywhere = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), network.pod(0).port());
    Echo::start(everywhere, EchoIdentity::of("big", name)).await
}

/// All EndpointSlices of the Service in one file, so that they change together.
fn set_endpoints(manifests: &Manifests, addrs: &[SocketAddr]) -> Result<()> {
    let mut text = String::new();
    for (number, addrs) in addrs.chunks(PODS_OF_A_SLICE).enumerate() {
        let mut slice = endpoint_slice("default", "big", addrs);
        slice["metadata"]["name"] = json!(format!("big-{number}"));
        writeln!(text, "---\n{slice}")?;
    }
    manifests.write("slices-of-big.yaml", &text)
}

/// The size of the backend as the data plane gets it.
fn document_size(addrs: &[SocketAddr]) -> Result<usize> {
    let addrs: Vec<String> = addrs.iter().map(SocketAddr::to_string).collect();
    let addrs: Vec<&str> = addrs.iter().map(String::as_str).collect();
    Ok(serde_json::to_vec(&backend(&addrs))?.len())
}

/// A pod is replaced by a great many others, and traffic follows; then it follows a small change.
pub(crate) async fn traffic_follows(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(2, 1).await?;
    let networks = [Network::reserve()?, Network::reserve()?];
    let (one, many) = (networks[0].pods(1), networks[1].pods(PODS));
    let size = document_size(&many)?;
    ensure!(size > 1 << 20, "the document has only {size} bytes");
    let old = pods(&networks[0], "old").await?;
    let new = pods(&networks[1], "new").await?;
    let manifests = &fixture.manifests;
    manifests.object(&service("default", "big", 80, &one))?;
    set_endpoints(manifests, &one)?;
    let ingress = Ingress::new("default", "big").host(BIG);
    manifests.ingress(&ingress.path("/", "big", 80))?;
    let options = Options::new(manifests).data_plane(data_plane);
    let sluice = options.start().await?;
    sluice.wait_for_pod(BIG, "old").await?;

    set_endpoints(manifests, &many)?;
    let is_new = async || {
        let page = sluice.get(BIG, "/").await;
        (page.ok()?.pod() == Some("new")).then_some(())
    };
    wait::until_within(LIMIT, "the many to answer", is_new).await?;
    let hits = (old.hits(), new.hits());
    for _ in 0..20 {
        ensure!(sluice.get(BIG, "/").await?.pod() == Some("new"));
    }
    ensure!((old.hits(), new.hits()) == (hits.0, hits.1 + 20));
    fixture.endpoints(&[1])?;
    sluice.wait_for_pod(HOST, "web-1").await?;
    sluice.stop()
}

/// A document of more than 10 MiB: a route to one pod, and the many pods of a Service that no route leads to.
pub(crate) fn ten_mebibytes(route: &str, pod: SocketAddr) -> Result<Vec<u8>> {
    let others = (0..200_000_u32).map(|n| {
        let prefix = 0xfd00_1111_2222_3333_4444_5555_u128 << 32;
        let ip = Ipv6Addr::from_bits(prefix | u128::from(n));
        SocketAddr::new(ip.into(), 8080).to_string()
    });
    let others: Vec<String> = others.collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let backends = [
        ("pod".to_owned(), backend(&[&pod.to_string()])),
        ("others".to_owned(), backend(&others)),
    ];
    let tables = Tables::Snapshot(Snapshot {
        version: Version::new(1, 1),
        routes: [(route.to_owned(), Route::to("pod"))].into(),
        backends: backends.into(),
        hosts: [].into(),
    });
    let document = serde_json::to_vec(&PluginConfig {
        schema: SCHEMA,
        host: None,
        zone: None,
        control: None,
        tables: Some(tables),
    })?;
    let size = document.len();
    ensure!(size > 10 << 20, "the document has only {size} bytes");
    Ok(document)
}
