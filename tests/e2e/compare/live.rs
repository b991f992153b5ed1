//! Requests that Envoy and nginx mirror.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::{Network, Port};
use sluice_tests::process::Process;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{artifacts, wait};

use super::page;
use crate::fixture::{Fixture, HOST};

/// A proxy that mirrors, and two pods in the place of data planes.
struct Stage {
    fixture: Fixture,
    front: Sluice,
    pods: Vec<Echo>,
    port: Port,
    _network: Network,
}

impl Stage {
    async fn start(data_plane: &str) -> Result<Stage> {
        let (fixture, network) = (Fixture::start(1, 1).await?, Network::reserve()?);
        let pods = Echo::start_all("side", &network.pods(2)).await?;
        pods[0].script(page("old"));
        pods[1].script(page("new"));
        let port = Port::reserve()?;
        let target = format!("http://{}$request_uri", port.addr());
        let mirrored = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80)
            .annotation("mirror-target", &target)
            .annotation("mirror-host", HOST);
        fixture.manifests.ingress(&mirrored)?;
        let allowed = ["--allow-upstream-cidr", "127.0.0.0/8"].map(str::to_owned);
        let front = Options::new(&fixture.manifests)
            .data_plane(data_plane)
            .arguments(allowed.to_vec());
        let front = front.start().await?;
        front.wait_for_status(HOST, "/", 200).await?;
        Ok(Stage {
            fixture,
            front,
            pods,
            port,
            _network: network,
        })
    }

    async fn compare(&self, old: SocketAddr) -> Result<Process> {
        let (old, new) = (old.to_string(), self.pods[1].addr().to_string());
        let mut command = Command::new(artifacts::sluice()?);
        command.args(["compare", "--old", &old, "--new", &new]);
        command.args(["--listen", &self.port.addr().to_string(), "--manifests"]);
        command.arg(self.fixture.manifests.dir());
        let live = Process::spawn(command)?;
        live.log().wait_for("taking mirrored requests").await?;
        Ok(live)
    }
}

fn says(process: &Process, text: &str) -> bool {
    let lines = process.log().lines();
    lines.iter().any(|line| line.contains(text))
}

/// Ends it, as a user does, and waits for this in its report.
async fn end(mut live: Process, texts: &[&str]) -> Result<()> {
    live.terminate();
    let status = live.stop()?;
    ensure!(status.code() == Some(1), "{status}: {}", live.log().tail());
    for text in texts {
        live.log().wait_for(text).await?;
    }
    Ok(())
}

async fn differences_are_seen_as_they_come(data_plane: &str) -> Result<()> {
    let stage = Stage::start(data_plane).await?;
    let live = stage.compare(stage.pods[0].addr()).await?;
    let seen = async || {
        stage.front.get(HOST, "/seen").await.ok()?;
        says(&live, "default/web: body: ").then_some(())
    };
    wait::until("a difference", seen)
        .await
        .with_context(|| live.log().tail())?;
    let post = Request::new("POST", HOST, "/changes").body("x");
    http::send(stage.front.http(), &post).await?;
    // Its mirror arrives soon after.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let report = ["GET http://web.test/seen", "--methods does not name"];
    end(live, &report).await?;
    stage.front.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_envoy_mirrors_are_compared_as_they_come() -> Result<()> {
    differences_are_seen_as_they_come("envoy").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_nginx_mirrors_are_compared_as_they_come() -> Result<()> {
    differences_are_seen_as_they_come("nginx").await
}

/// The old data plane mirrors what it is asked, too: also what it is asked from here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_comes_back_by_the_mirror_is_not_sent_again() -> Result<()> {
    for data_plane in ["envoy", "nginx"] {
        let stage = Stage::start(data_plane).await?;
        let live = stage.compare(stage.front.http()).await?;
        let before = stage.fixture.pods[0].hits();
        stage.front.get(HOST, "/loop").await?;
        wait::until("the request that comes back", async || {
            (stage.fixture.pods[0].hits() >= before + 2).then_some(())
        })
        .await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let hits = stage.fixture.pods[0].hits() - before;
        // The client's, and at most twelve attempts for the one difference.
        ensure!(hits <= 13, "{hits} requests");
        end(live, &["mirrored once more"]).await?;
        stage.front.stop()?;
    }
    Ok(())
}
