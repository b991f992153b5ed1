//! TCP and UDP ports in Envoy.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::ports::Port;
use sluice_tests::wait;

use crate::fixture::{Fixture, page};
use crate::scenarios::l4_ports::{self, config_map, with_ports};

#[tokio::test]
async fn tcp_port_forwards_to_its_service_and_sends_proxy_protocol_when_configured() -> Result<()> {
    l4_ports::tcp("envoy").await
}

#[tokio::test]
async fn udp_port_forwards_datagrams_and_replies() -> Result<()> {
    l4_ports::udp("envoy").await
}

#[tokio::test]
async fn new_endpoints_of_a_tcp_port_take_the_next_connections() -> Result<()> {
    let (fixture, port) = (Fixture::start(2, 1).await?, Port::reserve()?);
    let targets = json!({(port.number().to_string()): "default/web:80"});
    fixture.manifests.object(&config_map("tcp", targets))?;
    fixture.manifests.object(&config_map("udp", json!({})))?;
    let sluice = with_ports(&fixture.manifests, "envoy").start().await?;
    let pod = async || {
        let mut connection = Connection::open(port.addr()).await.ok()?;
        let answer = connection.send(&page()).await.ok()?;
        Some((connection, answer.pod()?.to_owned()))
    };
    let ((mut open, first), _) = wait::until("the TCP port to be listened on", pod).await?;
    ensure!(first == "web-0", "{first}");
    fixture.endpoints(&[1])?;
    let moved = async || pod().await.filter(|(_, pod)| pod == "web-1");
    wait::until("the next connection at the new pod", moved).await?;
    let same = open.send(&page()).await?;
    ensure!(same.pod() == Some("web-0"), "the connection has moved");
    sluice.stop()
}
