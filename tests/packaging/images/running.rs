//! The images under the security contexts of the chart: they start, serve, finish what is open and end with 0.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::data_plane::{Authority, CONTROLLER};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::script::Script;
use sluice_tests::{sluice, wait};

use super::build;
use super::container::{Container, Engine};
use crate::chart::objects;
use crate::pods::{Pod, pods};

const HOST: &str = "web.test";
/// Long enough for SIGTERM to arrive while a request is open.
const DELAY: Duration = Duration::from_millis(1500);

/// A pod behind an Ingress.
struct Site {
    pod: Echo,
    manifests: Manifests,
    http: Port,
    https: Port,
    _network: Network,
}

impl Site {
    async fn start() -> Result<Site> {
        let network = Network::reserve()?;
        let mut pods = Echo::start_all("web", &network.pods(1)).await?;
        let pod = pods.pop().context("no pod")?;
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &[pod.addr()])?;
        manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        Ok(Site {
            pod,
            manifests,
            http: Port::reserve()?,
            https: Port::reserve()?,
            _network: network,
        })
    }

    /// Flags of a controller that serves it.
    fn flags(&self, health: &Port) -> Vec<String> {
        let mut flags = words(&["run", "--manifests=/manifests", "--bind-address=127.0.0.1"]);
        flags.push(format!("--http-port={}", self.http.number()));
        flags.push(format!("--https-port={}", self.https.number()));
        flags.extend(at(health));
        flags.extend(words(&[
            "--post-shutdown-grace-period=0",
            "--drain-timeout=20",
        ]));
        flags
    }

    /// Serves; then gets SIGTERM while a request is open, which is finished.
    async fn drains(&self, container: Container) -> Result<()> {
        let addr = self.http.addr();
        let served = sluice::wait_for_status(addr, HOST, "/", 200).await;
        served.with_context(|| container.log())?;
        self.pod.script(Script::echo().delay(DELAY));
        let hits = self.pod.hits();
        let open = tokio::spawn(async move { http::send(addr, &Request::get(HOST, "/")).await });
        let arrived = async || (self.pod.hits() > hits || open.is_finished()).then_some(());
        wait::until("the request to arrive", arrived).await?;
        container.terminate();
        let answer = open.await?.with_context(|| container.log())?;
        let (status, text, log) = (answer.status, answer.text(), container.log());
        ensure!(
            status == 200,
            "the open request got {status}: {text}\n{log}"
        );
        ends_well(container).await
    }
}

async fn ends_well(container: Container) -> Result<()> {
    let status = container.status().await?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn at(health: &Port) -> Vec<String> {
    vec![
        "--healthz-host=127.0.0.1".to_owned(),
        format!("--healthz-port={}", health.number()),
    ]
}

/// The pod of a part of the chart.
fn pod_of(part: &str) -> Result<Pod> {
    let all = pods(&objects(&json!({}))?);
    let is_it = |pod: &Pod| pod.labels["app.kubernetes.io/component"] == part;
    all.into_iter()
        .find(is_it)
        .with_context(|| format!("no {part} in the chart"))
}

/// The chart's arguments for it. Of flags that stand twice, the last one counts.
fn arguments(pod: &Pod, others: Vec<String>) -> Result<Vec<String>> {
    let container = pod.containers().next().context("no container")?;
    let own = container["args"].as_array().context("no args")?;
    let own = own.iter().filter_map(Value::as_str).map(str::to_owned);
    Ok(own.chain(others).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controller_and_envoy_run_in_their_images_as_the_chart_restricts_them() -> Result<()> {
    let images = build(&["controller", "envoy"])?;
    let engine = Engine::with(&images, &["controller", "envoy"])?;
    let (site, authority) = (Site::start().await?, Authority::new()?);
    let (xds, health, envoys_health) = (Port::reserve()?, Port::reserve()?, Port::reserve()?);
    let (own, envoys) = (
        authority.identity(CONTROLLER)?,
        authority.identity("data-plane")?,
    );
    let mut flags = site.flags(&health);
    flags.push("--data-plane=none".to_owned());
    flags.push(format!("--xds-address={}", xds.addr()));
    flags.push("--xds-certificates=/etc/sluice/xds".to_owned());
    let folders = [
        (site.manifests.dir(), "/manifests"),
        (own.folder(), "/etc/sluice/xds"),
    ];
    let controller = engine.run("controller", &pod_of("controller")?, &folders, &flags)?;
    is_healthy(&controller, health.addr()).await?;

    let pod = pod_of("data-plane")?;
    let mut flags = at(&envoys_health);
    flags.push(format!("--xds-address=localhost:{}", xds.number()));
    flags.push(format!("--xds-server-name={CONTROLLER}"));
    flags.extend(words(&[
        "--shutdown-grace-period=0",
        "--post-shutdown-grace-period=0",
    ]));
    let flags = arguments(&pod, flags)?;
    let envoy = engine.run(
        "envoy",
        &pod,
        &[(envoys.folder(), "/etc/sluice/xds")],
        &flags,
    )?;
    site.drains(envoy).await?;
    controller.terminate();
    ends_well(controller).await
}

async fn is_healthy(container: &Container, addr: SocketAddr) -> Result<()> {
    let healthy = sluice::wait_for_status(addr, "health", "/healthz", 200).await;
    healthy.map(drop).with_context(|| container.log())
}

/// The chart has no nginx: a controller with one runs as the controller does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_runs_in_its_image_as_the_chart_restricts_the_controller() -> Result<()> {
    let images = build(&["nginx"])?;
    let engine = Engine::with(&images, &["nginx"])?;
    let (site, health) = (Site::start().await?, Port::reserve()?);
    let mut flags = site.flags(&health);
    flags.extend(words(&["--data-plane=nginx", "--nginx-workers=1"]));
    let folders = [(site.manifests.dir(), "/manifests")];
    let nginx = engine.run("nginx", &pod_of("controller")?, &folders, &flags)?;
    site.drains(nginx).await
}
