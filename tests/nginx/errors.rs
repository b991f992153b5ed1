//! Error responses of pods are replaced by those of an error service.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::script::Script;
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn error_service_replaces_the_pods_response() -> Result<()> {
    let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
    let pages = Echo::start(network.pod(0), EchoIdentity::of("pages", "pages-0")).await?;
    fixture
        .manifests
        .service("default", "pages", 80, &[pages.addr()])?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("custom-http-errors", "404,499,500")
        .annotation("default-backend", "pages");
    fixture.manifests.ingress(&ingress)?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    for (said, pod) in [
        (200, "web-0"),
        (404, "pages-0"),
        (500, "pages-0"),
        (403, "web-0"),
    ] {
        fixture.pods[0].script(Script::status(said));
        let page = sluice.get(HOST, "/some/page?a=1").await?;
        ensure!(page.pod() == Some(pod), "{said}: {page:?}");
        if pod == "web-0" {
            ensure!(page.status == said, "{page:?}");
            continue;
        }
        let seen = page.json()?;
        ensure!(page.status == 200 && seen["path"] == "/", "{seen}");
        let headers = &seen["headers"].to_string().to_lowercase();
        let code = said.to_string();
        for (name, value) in [
            ("x-code", code.as_str()),
            ("x-original-uri", "/some/page?a=1"),
            ("x-namespace", "default"),
            ("x-ingress-name", "web"),
            ("x-service-name", "web"),
            ("x-service-port", "80"),
        ] {
            ensure!(
                headers.contains(&format!("\"{name}\":")) && headers.contains(value),
                "{name}: {headers}"
            );
        }
    }
    ensure!(pages.hits() == 2, "nobody else asked");
    ensure_pods_of_grpc_answer(&fixture, &sluice).await?;
    sluice.stop()
}

/// As in ingress-nginx, which intercepts what comes over HTTP alone.
async fn ensure_pods_of_grpc_answer(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    let ingress = Ingress::new("default", "grpc").host("grpc.test");
    let ingress = ingress
        .path("/", "web", 80)
        .annotation("backend-protocol", "GRPC")
        .annotation("custom-http-errors", "404")
        .annotation("default-backend", "pages");
    fixture.manifests.ingress(&ingress)?;
    fixture.pods[0].script(Script::status(404));
    let page = sluice.wait_for_pod("grpc.test", "web-0").await?;
    ensure!(page.status == 404, "{page:?}");
    Ok(())
}
