//! `ssl-passthrough` in nginx: its stream module takes the https port.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::certificate::presents;
use sluice_tests::connection::Connection;
use sluice_tests::http::Request;

use crate::scenarios::passthrough::{self, SECURE, Vault, WEB};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_passthrough_presents_the_pods_certificate_and_leaves_other_hosts_alone() -> Result<()>
{
    passthrough::on("nginx").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_passthrough_strips_the_clients_proxy_header() -> Result<()> {
    passthrough::behind_proxy_protocol("nginx").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_passthrough_without_the_flag_terminates_tls_and_is_reported() -> Result<()> {
    passthrough::off("nginx").await
}

/// A client's address is in one place only; what cannot be served is reported, and nothing is decrypted for the pod.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_passthrough_beside_forwarded_headers_is_closed_and_reported() -> Result<()> {
    let vault = Vault::start("nginx").await?;
    let settings = json!({"use-forwarded-headers": "true"});
    let sluice = vault.serve_with(settings).await?;
    presents(&sluice, WEB, &vault.web).await?;
    let mut connection = Connection::open_tls(sluice.https(), SECURE).await?;
    ensure!(connection.certificate() != Some(vault.secure.der.as_slice()));
    let response = connection.send(&Request::get(SECURE, "/")).await?;
    ensure!(
        (response.status, response.pod()) == (503, None),
        "{response:?}"
    );
    let said = sluice.log().tail();
    ensure!(
        said.contains("ssl-passthrough beside use-forwarded-headers"),
        "{said}"
    );
    sluice.stop()
}
