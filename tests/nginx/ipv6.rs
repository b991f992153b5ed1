//! Addresses of IPv6 on both sides.

use anyhow::Result;

use crate::scenarios::ipv6;

#[tokio::test(flavor = "multi_thread")]
async fn clients_and_pods_with_ipv6_addresses_are_served() -> Result<()> {
    ipv6::clients_and_pods("nginx").await
}
