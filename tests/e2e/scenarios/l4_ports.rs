//! TCP and UDP ports, the same for every data plane.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::{Network, Port};
use sluice_tests::sluice::Options;
use sluice_tests::wait;
use tokio::net::UdpSocket;

use crate::fixture::page;

/// Ports of a layer: `udp` or `tcp`.
pub(crate) fn config_map(name: &str, data: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "sluice"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// A data plane with ports of the ConfigMaps `tcp` and `udp`.
pub(crate) fn with_ports(manifests: &Manifests, data_plane: &str) -> Options {
    let flags = [
        "--tcp-services-configmap",
        "sluice/tcp",
        "--udp-services-configmap",
        "sluice/udp",
    ];
    Options::new(manifests)
        .arguments(flags.map(str::to_owned).into())
        .data_plane(data_plane)
}

/// A TCP port leads to its Service, and says who the client is where that is asked for.
pub(crate) async fn tcp(data_plane: &str) -> Result<()> {
    let (network, manifests, journal) =
        (Network::reserve()?, Manifests::new()?, Journal::default());
    let setup = Setup {
        journal: Some(journal.clone()),
        ..Setup::default()
    };
    let pod = Echo::start_with(network.pod(0), EchoIdentity::of("web", "web-0"), setup).await?;
    manifests.service("default", "web", 80, &[pod.addr()])?;
    let (plain, with_proxy) = (Port::reserve()?, Port::reserve()?);
    let targets = json!({
        (plain.number().to_string()): "default/web:80",
        (with_proxy.number().to_string()): "default/web:80:PROXY:PROXY",
    });
    manifests.object(&config_map("tcp", targets))?;
    manifests.object(&config_map("udp", json!({})))?;
    let sluice = with_ports(&manifests, data_plane).start().await?;
    let open = async || Connection::open(plain.addr()).await.ok();
    let (mut connection, _) = wait::until("the TCP port to be listened on", open).await?;
    ensure!(connection.send(&page()).await?.pod() == Some("web-0"));
    let line = "PROXY TCP4 192.0.2.7 192.0.2.8 1234 80".to_owned();
    let dial = Dial {
        addr: with_proxy.addr(),
        proxy_line: Some(line.clone()),
        tls: None,
    };
    let mut connection = Connection::dial(&dial).await?;
    ensure!(connection.send(&page()).await?.pod() == Some("web-0"));
    let received = journal.since(0).pop().context("nothing arrived")?;
    let received = received.connection.proxy_line.unwrap_or_default();
    ensure!(
        received.starts_with("PROXY TCP4 192.0.2.7 "),
        "{received:?}"
    );

    manifests.object(&config_map("tcp", json!({})))?;
    let closed = async || Connection::open(plain.addr()).await.is_err().then_some(());
    wait::until("the TCP port to be gone", closed).await?;
    sluice.stop()
}

/// Datagrams reach the pods of a UDP Service, and their answers come back.
pub(crate) async fn udp(data_plane: &str) -> Result<()> {
    let pod = UdpSocket::bind("127.0.0.1:0").await?;
    let port = Port::reserve()?;
    let manifests = Manifests::new()?;
    let ports = json!([{"name": "dns", "protocol": "UDP", "port": 53}]);
    let metadata = json!({"name": "dns", "namespace": "default"});
    manifests.object(
        &json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}),
    )?;
    let labels = json!({"kubernetes.io/service-name": "dns"});
    manifests.object(&json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "dns", "namespace": "default", "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "dns", "protocol": "UDP", "port": pod.local_addr()?.port()}],
        "endpoints": [{"addresses": ["127.0.0.1"]}],
    }))?;
    manifests.object(&config_map(
        "udp",
        json!({(port.number().to_string()): "default/dns:53"}),
    ))?;
    manifests.object(&config_map("tcp", json!({})))?;
    let sluice = with_ports(&manifests, data_plane).start().await?;
    let client = UdpSocket::bind("127.0.0.1:0").await?;
    let arrived = async || {
        client.send_to(b"question", port.addr()).await.ok()?;
        let mut datagram = [0; 64];
        let received =
            tokio::time::timeout(Duration::from_millis(200), pod.recv_from(&mut datagram)).await;
        received
            .ok()?
            .ok()
            .map(|(length, from)| (datagram[..length].to_vec(), from))
    };
    let ((datagram, from), _) = wait::until("a datagram to arrive", arrived).await?;
    ensure!(datagram == b"question", "{datagram:?}");
    pod.send_to(b"answer", from).await?;
    let mut answer = [0; 64];
    let (length, _) = tokio::time::timeout(wait::LIMIT, client.recv_from(&mut answer)).await??;
    ensure!(answer[..length] == *b"answer");
    sluice.stop()
}
