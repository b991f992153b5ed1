//! Whatever task of a controller dies, the process says which one, and ends: what would be left looks healthy and is not.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use sluice_tests::apiserver::Cluster;
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane};
use sluice_tests::faults::Faults;
use sluice_tests::http;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::admission::Certificate;
use crate::fixture::Fixture;

/// Log line of a task that starts.
const STARTS: (&str, &str) = ("task ", " starts");

/// The tasks that a controller has started.
fn names(sluice: &Sluice) -> BTreeSet<String> {
    let lines = sluice.log().lines();
    let names = lines.iter().filter_map(|line| {
        let (_, rest) = line.split_once(STARTS.0)?;
        Some(rest.split_once(STARTS.1)?.0.to_owned())
    });
    // Those are over when the controller serves.
    names.filter(|name| !name.starts_with("read of ")).collect()
}

/// Starts a controller for each of its tasks, and kills that task.
async fn each_ends_the_process(
    start: impl AsyncFn(&Faults) -> Result<Sluice>,
) -> Result<BTreeSet<String>> {
    let mut killed = BTreeSet::new();
    loop {
        let faults = Faults::new()?;
        let sluice = start(&faults).await?;
        let healthy = async || {
            let page = http::get(sluice.health(), "health", "/healthz").await.ok();
            page.filter(|page| {
                page.status == 200 && page.text().starts_with("ok\nlast publication ")
            })
        };
        wait::until("a healthy controller", healthy)
            .await
            .with_context(|| sluice.log().tail())?;
        let Some(name) = names(&sluice).difference(&killed).next().cloned() else {
            sluice.stop()?;
            return Ok(killed);
        };
        faults.kill(&name)?;
        let log = sluice.log().clone();
        let status = sluice
            .exit_status()
            .await
            .with_context(|| format!("it lives without {name:?}"))?;
        let said = format!("sluice: task {name:?} panicked: injected fault");
        let says = log.wait_for(&said).await;
        says.with_context(|| format!("{name}: {status}"))?;
        ensure!(status.code() == Some(1), "{name}: {status}");
        killed.insert(name);
    }
}

fn ensure_all_failed(names: &[&str], killed: &BTreeSet<String>) -> Result<()> {
    let missing: Vec<&&str> = names
        .iter()
        .filter(|name| !killed.contains(**name))
        .collect();
    ensure!(
        missing.is_empty(),
        "{missing:?} did not start, only {killed:?}"
    );
    Ok(())
}

const COMMON_TASKS: [&str; 6] = [
    "admin socket",
    "data plane server",
    "healthz-port",
    "manifests",
    "names",
    "publisher",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_panic_ends_a_controller_with_envoy() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let killed = each_ends_the_process(async |faults| {
        faults
            .for_controller(Options::new(&fixture.manifests))
            .start()
            .await
    })
    .await?;
    ensure_all_failed(&COMMON_TASKS, &killed)?;
    ensure_all_failed(&["envoy supervisor", "envoy log", "xds session"], &killed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_panic_ends_a_controller_with_nginx() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let logs = ["--access-log", "--enable-metrics"].map(str::to_owned);
    let killed = each_ends_the_process(async |faults| {
        let options = Options::new(&fixture.manifests)
            .data_plane("nginx")
            .arguments(logs.to_vec());
        faults.for_controller(options).start().await
    });
    let killed = killed.await?;
    ensure_all_failed(&COMMON_TASKS, &killed)?;
    ensure_all_failed(
        &[
            "nginx supervisor",
            "nginx log",
            "nginx files",
            "access log",
            "request log",
        ],
        &killed,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_panic_ends_a_controller_with_remote_data_planes() -> Result<()> {
    let (fixture, authority, xds) = (
        Fixture::start(1, 1).await?,
        Authority::new()?,
        Port::reserve()?,
    );
    let identity = authority.identity(CONTROLLER)?;
    let of_data_plane = authority.identity("data-plane")?;
    let data_plane = DataPlane::start(xds.addr(), &of_data_plane).await?;
    let killed = each_ends_the_process(async |faults| {
        let certificates = [
            "--xds-certificates".to_owned(),
            identity.folder().display().to_string(),
        ];
        let options = Options::new(&fixture.manifests)
            .without_data_plane()
            .xds(xds.addr().to_string());
        let sluice = faults
            .for_controller(options.arguments(certificates.into()))
            .start()
            .await?;
        let session = sluice.log().wait_for("task xds session starts").await;
        session.with_context(|| data_plane.log().tail())?;
        Ok(sluice)
    });
    let killed = killed.await?;
    ensure_all_failed(&COMMON_TASKS, &killed)?;
    ensure_all_failed(
        &["xds certificate", "xds handshakes", "xds session"],
        &killed,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_panic_ends_a_controller_with_a_webhook() -> Result<()> {
    let (fixture, port, certificate) = (
        Fixture::start(1, 1).await?,
        Port::reserve()?,
        Certificate::new()?,
    );
    let killed = each_ends_the_process(async |faults| {
        let options = Options::new(&fixture.manifests).arguments(certificate.arguments(&port));
        faults
            .for_controller(options.without_data_plane())
            .start()
            .await
    });
    ensure_all_failed(
        &[
            "admission server",
            "admission certificate",
            "admission handshakes",
        ],
        &killed.await?,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn task_panic_ends_a_controller_in_a_cluster() -> Result<()> {
    let cluster = Cluster::fake().await?;
    let arguments = ["--publish-status-address=192.0.2.1", "--pod-weights"].map(str::to_owned);
    let killed = each_ends_the_process(async |faults| {
        let options = Options::in_cluster(&cluster).arguments(arguments.to_vec());
        faults
            .for_controller(options.without_data_plane())
            .start()
            .await
    });
    let killed = killed.await?;
    ensure_all_failed(
        &[
            "cluster objects",
            "event recorder",
            "leader election",
            "status writer",
        ],
        &killed,
    )?;
    let watches = killed
        .iter()
        .filter(|name| name.starts_with("watch of "))
        .count();
    ensure!(watches >= 6, "{killed:?}");
    Ok(())
}
