//! Settings of the ConfigMap, as clients and pods see them.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::send;
use sluice_tests::sluice::{Options, Sluice};

use crate::site::{Site, page};

/// A controller with these settings.
async fn with(site: &Site, data: Value) -> Result<Sluice> {
    let metadata = json!({"name": "settings", "namespace": "sluice"});
    site.manifests
        .object(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))?;
    let flags = ["--configmap", "sluice/settings"].map(str::to_owned).into();
    Options::new(&site.manifests).arguments(flags).start().await
}

#[tokio::test]
async fn a_client_gets_the_best_encoding_that_it_takes_and_the_operator_has_switched_on() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let data =
        json!({"use-gzip": "true", "enable-brotli": "true", "gzip-min-length": "10", "gzip-types": "*"});
    let sluice = with(&site, data).await?;
    for (accepted, expected) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
        let answer = send(sluice.http(), &page().header("accept-encoding", accepted)).await?;
        ensure!(answer.status == 200, "{answer:?}");
        ensure!(answer.header("content-encoding") == expected, "{accepted}: {answer:?}");
        ensure!(answer.header("vary").is_some_and(|vary| vary.eq_ignore_ascii_case("accept-encoding")));
    }
    sluice.stop()
}
