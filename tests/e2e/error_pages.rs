//! Error services: they answer in the place of pods, and are told what about.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use sluice_tests::echo::Echo;
use sluice_tests::http::{Request, Response, send};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;

/// A Service that fails and one that tells about it.
struct Shop {
    pods: Vec<Echo>,
    pages: Vec<Echo>,
    manifests: Manifests,
    _networks: [Network; 2],
}

impl Shop {
    async fn start(ingress: &Ingress) -> Result<Shop> {
        Shop::with_pods(1, ingress).await
    }

    async fn with_pods(count: u16, ingress: &Ingress) -> Result<Shop> {
        let networks = [Network::reserve()?, Network::reserve()?];
        let pods = Echo::start_all("shop", &networks[0].pods(count)).await?;
        let pages = Echo::start_all("pages", &networks[1].pods(1)).await?;
        let manifests = Manifests::new()?;
        manifests.service(
            "default",
            "shop",
            80,
            &pods.iter().map(Echo::addr).collect::<Vec<_>>(),
        )?;
        manifests.service("default", "pages", 80, &[pages[0].addr()])?;
        manifests.ingress(ingress)?;
        Ok(Shop {
            pods,
            pages,
            manifests,
            _networks: networks,
        })
    }
}

fn ingress(host: &str) -> Ingress {
    Ingress::new("default", "shop")
        .host(host)
        .path("/", "shop", 80)
        .annotation("custom-http-errors", "403,404,503")
        .annotation("default-backend", "pages")
}

fn header<'a>(echo: &'a Value, name: &str) -> Option<&'a str> {
    let headers = echo["headers"].as_object()?;
    let value = headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))?
        .1;
    value.as_str().or_else(|| value.get(0)?.as_str())
}

fn ensure_request_headers(response: &Response, expected: &[(&str, &str)]) -> Result<()> {
    ensure!(
        response.status == 200 && response.pod() == Some("pages-0"),
        "{response:?}"
    );
    let echo = response.json()?;
    for (name, value) in expected {
        ensure!(
            header(&echo, name) == Some(*value),
            "{name}: expected {value:?} in {echo}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn error_service_receives_the_failed_request_as_the_client_sees_it() -> Result<()> {
    let shop =
        Shop::start(&ingress("*.shop.test").annotation("upstream-vhost", "pods.test")).await?;
    let sluice = Sluice::start(&shop.manifests).await?;
    let found = sluice.get("a.shop.test", "/x?y=1").await?;
    ensure!(
        found.status == 200 && found.pod() == Some("shop-0"),
        "{found:?}"
    );
    shop.pods[0].script(Script::status(404));
    let failed = Request::get("a.shop.test", "/x?y=1")
        .header("accept", "text/html")
        .header("x-sluice-error", "a/b/c");
    let failed = send(sluice.http(), &failed.header("x-request-id", "unique")).await?;
    ensure_request_headers(
        &failed,
        &[
            ("x-code", "404"),
            ("x-format", "text/html"),
            ("x-original-uri", "/x?y=1"),
            ("x-namespace", "default"),
            ("x-ingress-name", "shop"),
            ("x-service-name", "shop"),
            ("x-service-port", "80"),
            ("x-request-id", "unique"),
            ("x-forwarded-host", "a.shop.test"),
            ("host", "a.shop.test"),
        ],
    )?;
    shop.pods[0].script(Script::status(500));
    let kept = sluice.get("a.shop.test", "/").await?;
    ensure!(kept.status == 500, "{kept:?}");
    sluice.stop()
}

/// As in ingress-nginx, which intercepts what comes over HTTP alone. What keeps clients from them is replaced.
#[tokio::test]
async fn pods_of_grpc_answer_for_themselves() -> Result<()> {
    let shop = Shop::start(&ingress("shop.test").annotation("backend-protocol", "GRPC")).await?;
    let denied = Ingress::new("default", "denied").host("denied.test");
    let denied = denied.path("/", "shop", 80);
    let denied = denied
        .annotation("backend-protocol", "GRPC")
        .annotation("custom-http-errors", "403")
        .annotation("default-backend", "pages")
        .annotation("whitelist-source-range", "192.0.2.0/24");
    shop.manifests.ingress(&denied)?;
    let sluice = Sluice::start(&shop.manifests).await?;
    sluice.wait_for_status("shop.test", "/", 200).await?;
    shop.pods[0].script(Script::status(404));
    let kept = sluice.get("shop.test", "/").await?;
    ensure!(
        kept.status == 404 && kept.pod() == Some("shop-0"),
        "{kept:?}"
    );
    let replaced = sluice.wait_for_pod("denied.test", "pages-0").await?;
    ensure_request_headers(&replaced, &[("x-code", "403")])?;
    sluice.stop()
}

#[tokio::test]
async fn error_service_sets_the_status_and_is_not_asked_about_its_own_errors() -> Result<()> {
    let shop = Shop::start(&ingress("shop.test")).await?;
    shop.pods[0].script(Script::status(404));
    shop.pages[0].script(Script::status(404));
    let sluice = Sluice::start(&shop.manifests).await?;
    let failed = sluice.get("shop.test", "/").await?;
    ensure!(
        failed.status == 404 && failed.pod() == Some("pages-0"),
        "{failed:?}"
    );
    ensure!(shop.pages[0].hits() == 1, "{}", shop.pages[0].hits());
    sluice.stop()
}

#[tokio::test]
async fn clients_cannot_reach_the_error_service_directly() -> Result<()> {
    let shop = Shop::start(&ingress("shop.test")).await?;
    let sluice = Sluice::start(&shop.manifests).await?;
    let asked = Request::get("sluice-errors-", "/").header("x-sluice-error", "default/pages/first");
    let refused = send(sluice.http(), &asked).await?;
    ensure!(
        refused.status == 404 && refused.pod().is_none(),
        "{refused:?}"
    );
    sluice.stop()
}

#[tokio::test]
async fn denied_client_gets_the_error_page_and_reaches_no_pod() -> Result<()> {
    let shop =
        Shop::start(&ingress("shop.test").annotation("whitelist-source-range", "192.0.2.0/24"))
            .await?;
    let sluice = Sluice::start(&shop.manifests).await?;
    ensure_request_headers(&sluice.get("shop.test", "/").await?, &[("x-code", "403")])?;
    // Before the end of a body nothing is replaced.
    let body = Request::new("POST", "shop.test", "/").body("secret");
    let refused = send(sluice.http(), &body).await?;
    ensure!(refused.status == 403, "{refused:?}");
    ensure!(shop.pods[0].hits() == 0, "a pod was asked");
    sluice.stop()
}

#[tokio::test]
async fn failed_request_with_a_body_reaches_the_error_service() -> Result<()> {
    let shop = Shop::start(&ingress("shop.test")).await?;
    shop.pods[0].script(Script::status(503));
    let sluice = Sluice::start(&shop.manifests).await?;
    let body = Request::new("POST", "shop.test", "/buy").body(vec![b'x'; 300_000]);
    let failed = send(sluice.http(), &body).await.context("with a body")?;
    ensure_request_headers(&failed, &[("x-code", "503"), ("x-original-uri", "/buy")])?;
    sluice.stop()
}

/// Envoy begins such a request anew, and must tell of the end of the first one.
#[tokio::test]
async fn error_page_ends_the_in_flight_request_of_the_failed_pod() -> Result<()> {
    let shop = Shop::with_pods(
        2,
        &ingress("shop.test").annotation("load-balance", "least_conn"),
    )
    .await?;
    let sluice = Sluice::start(&shop.manifests).await?;
    shop.pods[0].script(Script::status(404));
    let (mut failing, mut serving) = (0, 0);
    for _ in 0..100 {
        match sluice.get("shop.test", "/").await?.pod() {
            Some("pages-0") => failing += 1,
            Some("shop-1") => serving += 1,
            other => bail!("answered by {other:?}"),
        }
    }
    // One after the other, so both are always idle; a request that was never over would keep all others away.
    ensure!(
        failing > 20 && serving > 20,
        "the failing pod had {failing}, the other {serving}"
    );
    Ok(())
}
