//! The API server goes away, or breaks off: what was served is served, and what changed meanwhile arrives afterwards.

use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::apiserver::Cluster;
use sluice_tests::artifacts;
use sluice_tests::http::Request;
use sluice_tests::load::{Load, Running};
use sluice_tests::process;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, apply_web_ingress, web};

const STAYS: &str = "stays.test";
const GOES: &str = "goes.test";
const COMES: &str = "comes.test";

/// Requests to a host that is there all the time; not one may fail.
fn load(sluice: &Sluice) -> Running {
    let request = Request::get(STAYS, "/");
    Load::new(sluice.http(), request)
        .connections(2)
        .pause(Duration::from_millis(5))
        .start()
}

async fn ensure_none_failed(load: Running) -> Result<()> {
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0 && tally.total() > 0, "{tally}");
    Ok(())
}

/// Two hosts, one of which is about to go.
async fn start(cluster: &Cluster) -> Result<Sluice> {
    apply_web_ingress(cluster, "stays", STAYS).await?;
    apply_web_ingress(cluster, "goes", GOES).await?;
    let sluice = Options::in_cluster(cluster).start().await?;
    for host in [STAYS, GOES] {
        sluice.wait_for_status(host, "/", 200).await?;
    }
    Ok(sluice)
}

async fn apply_changes(cluster: &Cluster) -> Result<()> {
    apply_web_ingress(cluster, "comes", COMES).await?;
    cluster.delete(NETWORKING, "Ingress", "goes").await
}

async fn wait_for_changes(sluice: &Sluice) -> Result<()> {
    sluice.wait_for_status(COMES, "/", 200).await?;
    sluice.wait_for_status(GOES, "/", 404).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn outage_fails_no_request_and_changes_arrive_afterwards() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = start(cluster).await?;
        let load = load(&sluice);
        cluster.gate().close();
        sluice
            .log()
            .wait_for("what was read before is still served")
            .await?;
        apply_changes(cluster).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        for host in [STAYS, GOES] {
            ensure!(
                sluice.get(host, "/").await?.status == 200,
                "{host}: nobody said that it is gone"
            );
        }
        cluster.gate().open().await?;
        wait_for_changes(&sluice).await?;
        ensure_none_failed(load).await?;
        sluice.stop()
    })
    .await
}

/// A whole minute, in real time: long enough for the waits between attempts to have grown to the longest.
#[tokio::test(flavor = "multi_thread")]
async fn minute_long_outage_fails_no_request_and_recovers() -> Result<()> {
    const MINUTE: Duration = Duration::from_secs(60);
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = start(cluster).await?;
        let load = load(&sluice);
        cluster.gate().close();
        sluice
            .log()
            .wait_for("what was read before is still served")
            .await?;
        // What was under way has come back by now.
        let asked = cluster.gate().count("", "");
        apply_changes(cluster).await?;
        tokio::time::sleep(MINUTE).await;
        for host in [STAYS, GOES] {
            ensure!(
                sluice.get(host, "/").await?.status == 200,
                "{host}: nobody said that it is gone"
            );
        }
        ensure!(
            cluster.gate().count("", "") == asked,
            "the API server was not gone"
        );
        // At once, and perhaps after a minute: not a line for each watch and attempt.
        let lines = sluice.log().lines();
        let is_told = |line: &&String| line.contains("the API server does not answer");
        let told = lines.iter().filter(is_told).count();
        ensure!(
            (1..=2).contains(&told),
            "told {told} times that the API server does not answer"
        );
        cluster.gate().open().await?;
        // The longest wait between two attempts, before its jitter.
        tokio::time::sleep(Duration::from_secs(10)).await;
        wait_for_changes(&sluice).await?;
        ensure_none_failed(load).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_watch_resumes_where_it_stopped() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = start(cluster).await?;
        let load = load(&sluice);
        let lists = cluster.gate().lists("/ingresses");
        cluster.gate().cut();
        apply_changes(cluster).await?;
        wait_for_changes(&sluice).await?;
        ensure!(
            cluster.gate().lists("/ingresses") == lists,
            "everything was listed again"
        );
        ensure_none_failed(load).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_resource_version_causes_a_new_list() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = start(cluster).await?;
        let load = load(&sluice);
        let lists = cluster.gate().lists("/ingresses");
        cluster.gate().close();
        apply_changes(cluster).await?;
        if let Some(fake) = cluster.as_fake() {
            fake.compact();
        }
        cluster.gate().open().await?;
        cluster.gate().expire_watches();
        wait_for_changes(&sluice).await?;
        // A real API server remembers for minutes; its watches are told so by the gate, and nothing may change by it.
        cluster.gate().expire_watches();
        let listed = async || (cluster.gate().lists("/ingresses") > lists).then_some(());
        wait::until("a new list", listed).await?;
        ensure!(sluice.get(COMES, "/").await?.status == 200);
        ensure_none_failed(load).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_restarted_during_an_outage_serves_the_last_good_configuration() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = start(cluster).await?;
        cluster.gate().close();
        let first = sluice.envoy_pid().context("no envoy")?;
        process::kill(first);
        let replacement = async || sluice.envoy_pid().filter(|pid| *pid != first);
        wait::until("another envoy", replacement).await?;
        sluice.wait_for_status(STAYS, "/", 200).await?;
        cluster.gate().open().await?;
        apply_changes(cluster).await?;
        wait_for_changes(&sluice).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn controller_started_during_an_outage_waits() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "stays", STAYS).await?;
        cluster.gate().close();
        let started = Options::in_cluster(cluster).spawn()?;
        started
            .log()
            .wait_for("the API server does not answer")
            .await?;
        cluster.gate().open().await?;
        let sluice = started.ready().await?;
        sluice.wait_for_status(STAYS, "/", 200).await?;
        sluice.stop()?;

        cluster.gate().close();
        let waits = Options::in_cluster(cluster).spawn()?;
        waits
            .log()
            .wait_for("the API server does not answer")
            .await?;
        waits.stop()
    })
    .await
}

/// A port that nobody listens on, and one where connections are taken and never answered.
#[tokio::test(flavor = "multi_thread")]
async fn dead_apiserver_is_said_once_and_not_for_each_attempt() -> Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let closed = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let run = async |address: SocketAddr, wait: Duration| {
        let folder = tempfile::tempdir()?;
        let url = format!("http://{address}");
        let mut child = Command::new(artifacts::sluice()?)
            .args(["run", "--source", "kube", "--apiserver-host", &url])
            .args(["--data-plane", "none", "--healthz-port", "0", "--run-dir"])
            .arg(folder.path())
            .env("POD_NAME", "sluice")
            .env("POD_NAMESPACE", "sluice-system")
            .env_remove("RUST_LOG")
            .stderr(Stdio::piped())
            .spawn()?;
        tokio::time::sleep(wait).await;
        child.kill()?;
        let log = String::from_utf8(child.wait_with_output()?.stderr)?;
        ensure!(log.contains(&format!("cluster at {url}")), "{log}");
        let told = log.matches("the API server does not answer").count();
        let loud = log
            .lines()
            .filter(|line| line.contains("WARN") || line.contains("ERROR"));
        ensure!(told == 1 && loud.count() == 1, "{log}");
        anyhow::Ok(log)
    };
    // The silence is known after half a minute.
    let (refused, silence) = tokio::join!(
        run(closed, Duration::from_secs(15)),
        run(silent.local_addr()?, Duration::from_secs(40)),
    );
    let refused = refused?;
    ensure!(refused.contains("Connection refused"), "{refused}");
    let silence = silence?;
    ensure!(silence.contains("nothing in 30s"), "{silence}");
    Ok(())
}
