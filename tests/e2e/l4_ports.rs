//! TCP and UDP ports in Envoy.

use anyhow::Result;

use crate::scenarios::l4_ports;

#[tokio::test]
async fn tcp_port_forwards_to_its_service_and_sends_proxy_protocol_when_configured() -> Result<()> {
    l4_ports::tcp("envoy").await
}

#[tokio::test]
async fn udp_port_forwards_datagrams_and_replies() -> Result<()> {
    l4_ports::udp("envoy").await
}
