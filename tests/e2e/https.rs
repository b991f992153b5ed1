//! TLS towards clients.

use anyhow::{Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::Request;
use sluice_tests::sluice::Sluice;

use crate::site::{HOST, Site};

#[tokio::test]
async fn https_serves_the_same_routes_with_a_certificate_of_last_resort() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let sluice = Sluice::start(&site.manifests).await?;
    let mut connection = Connection::open_tls(sluice.https(), HOST).await?;
    let found = connection.send(&Request::get(HOST, "/")).await?;
    ensure!(found.pod() == Some("web-0"), "{found:?}");
    let missing = connection.send(&Request::get("nobody.test", "/")).await?;
    ensure!(missing.status == 404, "{missing:?}");
    sluice.stop()
}
