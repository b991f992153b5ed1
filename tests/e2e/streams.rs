//! Ports without HTTP: TCP and UDP services.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::connection::Connection;
use sluice_tests::dial::Dial;
use sluice_tests::echo::{Echo, EchoIdentity, Journal, Setup};
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::{Network, Port};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use tokio::net::UdpSocket;

use crate::site::page;

fn config_map(name: &str, data: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "sluice"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

async fn with_streams(manifests: &Manifests) -> Result<Sluice> {
    let flags = ["--tcp-services-configmap", "sluice/tcp", "--udp-services-configmap", "sluice/udp"];
    Options::new(manifests).arguments(flags.map(str::to_owned).into()).start().await
}

#[tokio::test]
async fn a_tcp_port_leads_to_its_service_and_says_who_the_client_is_where_that_is_asked_for() -> Result<()> {
    let (network, manifests, journal) = (Network::reserve()?, Manifests::new()?, Journal::default());
    let setup = Setup { journal: Some(journal.clone()), ..Setup::default() };
    let pod = Echo::start_with(network.pod(0), EchoIdentity::of("web", "web-0"), setup).await?;
    manifests.service("default", "web", 80, &[pod.addr()])?;
    let (plain, told) = (Port::reserve()?, Port::reserve()?);
    let targets = json!({
        (plain.number().to_string()): "default/web:80",
        (told.number().to_string()): "default/web:80:PROXY:PROXY",
    });
    manifests.object(&config_map("tcp", targets))?;
    manifests.object(&config_map("udp", json!({})))?;
    let sluice = with_streams(&manifests).await?;
    let open = async || Connection::open(plain.addr()).await.ok();
    let (mut connection, _) = wait::until("the TCP port to be listened on", open).await?;
    ensure!(connection.send(&page()).await?.pod() == Some("web-0"));
    let line = "PROXY TCP4 192.0.2.7 192.0.2.8 1234 80".to_owned();
    let dial = Dial { addr: told.addr(), proxy_line: Some(line.clone()), tls: None };
    let mut connection = Connection::dial(&dial).await?;
    ensure!(connection.send(&page()).await?.pod() == Some("web-0"));
    let heard = journal.since(0).pop().context("nothing arrived")?;
    let heard = heard.connection.proxy_line.unwrap_or_default();
    ensure!(heard.starts_with("PROXY TCP4 192.0.2.7 "), "{heard:?}");

    manifests.object(&config_map("tcp", json!({})))?;
    let closed = async || Connection::open(plain.addr()).await.is_err().then_some(());
    wait::until("the TCP port to be gone", closed).await?;
    sluice.stop()
}

#[tokio::test]
async fn datagrams_reach_the_pods_of_a_udp_service_and_their_answers_come_back() -> Result<()> {
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
    manifests.object(&config_map("udp", json!({(port.number().to_string()): "default/dns:53"})))?;
    manifests.object(&config_map("tcp", json!({})))?;
    let sluice = with_streams(&manifests).await?;
    let client = UdpSocket::bind("127.0.0.1:0").await?;
    let asked = async || {
        client.send_to(b"question", port.addr()).await.ok()?;
        let mut question = [0; 64];
        let heard = tokio::time::timeout(Duration::from_millis(200), pod.recv_from(&mut question)).await;
        heard.ok()?.ok().map(|(length, from)| (question[..length].to_vec(), from))
    };
    let ((question, from), _) = wait::until("a datagram to arrive", asked).await?;
    ensure!(question == b"question", "{question:?}");
    pod.send_to(b"answer", from).await?;
    let mut answer = [0; 64];
    let (length, _) = tokio::time::timeout(wait::LIMIT, client.recv_from(&mut answer)).await??;
    ensure!(answer[..length] == *b"answer");
    sluice.stop()
}
