//! Ports without HTTP in Envoy.

use anyhow::Result;

use crate::ports;

#[tokio::test]
async fn a_tcp_port_leads_to_its_service_and_says_who_the_client_is_where_that_is_asked_for()
-> Result<()> {
    ports::tcp("envoy").await
}

#[tokio::test]
async fn datagrams_reach_the_pods_of_a_udp_service_and_their_answers_come_back() -> Result<()> {
    ports::udp("envoy").await
}
