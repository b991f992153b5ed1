//! `ssl-passthrough` in Envoy.

use anyhow::Result;

use crate::scenarios::passthrough;

#[tokio::test]
async fn passthrough_presents_the_pods_certificate_and_leaves_other_hosts_alone() -> Result<()> {
    passthrough::on("envoy").await
}

#[tokio::test]
async fn passthrough_strips_the_clients_proxy_header() -> Result<()> {
    passthrough::behind_proxy_protocol("envoy").await
}

#[tokio::test]
async fn passthrough_without_the_flag_terminates_tls_and_is_reported() -> Result<()> {
    passthrough::off("envoy").await
}
