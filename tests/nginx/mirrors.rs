//! Copies for a Service of the cluster go to its own address: the filter chooses a pod once for each request.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::wait;

use crate::site::{HOST, Site};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_gets_a_copy_and_the_client_the_answer_of_the_pod() -> Result<()> {
    let (site, network) = (Site::start(1, 1).await?, Network::reserve()?);
    let copies = Echo::start(network.pod(0), EchoIdentity::of("copies", "copies-0")).await?;
    let mut service = manifests::service("default", "copies", copies.addr().port(), &[]);
    service["spec"]["clusterIP"] = copies.addr().ip().to_string().into();
    site.manifests.object(&service)?;
    let target = format!("http://copies.default.svc.cluster.local:{}", copies.addr().port());
    let ingress = Ingress::new("default", "web").host(HOST).path("/", "web", 80);
    site.manifests.ingress(&ingress.annotation("mirror-target", &target))?;
    let sluice = Options::new(&site.manifests).data_plane("nginx").start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let before = copies.hits();
    let request = Request::new("POST", HOST, "/some?a=1").body("body");
    let answer = http::send(sluice.http(), &request).await?;
    ensure!(answer.pod() == Some("web-0"), "{answer:?}");
    let copied = async || (copies.hits() > before).then_some(());
    wait::until("the copy", copied).await?;
    sluice.stop()
}
