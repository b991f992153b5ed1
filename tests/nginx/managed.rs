//! nginx as the controller's child.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{artifacts, http, proc, process, wait};
use tempfile::TempDir;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};

/// Every host is in nginx.conf.
const NO_TABLE: &str = "--nginx-host-table=off";

async fn start(fixture: &Fixture) -> Result<Sluice> {
    start_with(fixture, &[]).await
}

async fn start_with(fixture: &Fixture, arguments: &[&str]) -> Result<Sluice> {
    let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .arguments(arguments)
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

/// An Ingress for a path of a host.
fn ingress(name: &str, path: &str) -> Ingress {
    Ingress::new("default", name)
        .host(&format!("{name}.test"))
        .path(path, "web", 80)
}

/// The master's process id, and those of its workers.
fn processes(sluice: &Sluice) -> Result<(u32, Vec<u32>)> {
    let master = *proc::children(sluice.pid()).first().context("an nginx")?;
    Ok((master, proc::children(master)))
}

pub(crate) fn reloads(sluice: &Sluice) -> usize {
    sluice
        .log()
        .lines()
        .iter()
        .filter(|line| line.contains("reloading nginx"))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoint_changes_reload_nothing_and_new_hosts_only_without_a_table() -> Result<()> {
    for (arguments, expected) in [(&[][..], 0), (&[NO_TABLE][..], 1)] {
        let fixture = Fixture::start(3, 2).await?;
        let sluice = start_with(&fixture, arguments).await?;
        ensure_even_spread(sluice.http(), &[0, 1]).await?;
        let before = processes(&sluice)?;
        fixture.endpoints(&[1, 2])?;
        wait::until("the new pods", async || {
            ensure_even_spread(sluice.http(), &[1, 2]).await.ok()
        })
        .await?;
        ensure!(
            processes(&sluice)? == before && reloads(&sluice) == 0,
            "{}",
            sluice.log().tail()
        );
        fixture.manifests.ingress(&ingress("more", "/"))?;
        sluice.wait_for_status("more.test", "/", 200).await?;
        ensure!(reloads(&sluice) == expected, "{}", sluice.log().tail());
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_profile_reloads_when_it_is_new_and_its_hosts_and_paths_do_not() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = start(&fixture).await?;
    let patient =
        |name: &str, path: &str| ingress(name, path).annotation("proxy-read-timeout", "77");
    let reloads = || reloads(&sluice);
    let wait = async |name: &str, path: &str, status: u16| {
        let host = format!("{name}.test");
        sluice.wait_for_status(&host, path, status).await
    };
    fixture.manifests.ingress(&ingress("first", "/first"))?;
    wait("first", "/first/a", 200).await?;
    // Its catch-all path answers 404 by another one than that of other hosts.
    wait("first", "/", 404).await?;
    let known = reloads();
    ensure!(known <= 1, "{}", sluice.log().tail());
    fixture.manifests.ingress(&ingress("second", "/second"))?;
    wait("second", "/second", 200).await?;
    wait("second", "/secondary", 404).await?;
    fixture.manifests.ingress(&ingress("first", "/other"))?;
    wait("first", "/other", 200).await?;
    wait("first", "/first", 404).await?;
    ensure!(reloads() == known, "{}", sluice.log().tail());
    fixture.manifests.ingress(&patient("second", "/"))?;
    wait("second", "/secondary", 200).await?;
    ensure!(reloads() == known + 1, "{}", sluice.log().tail());
    fixture.manifests.ingress(&patient("third", "/third"))?;
    wait("third", "/third", 200).await?;
    ensure!(reloads() == known + 1, "{}", sluice.log().tail());
    fixture.manifests.remove("ingress-default-third.yaml")?;
    wait("third", "/third", 404).await?;
    // The last one that has it, and another one later.
    fixture.manifests.ingress(&ingress("second", "/second"))?;
    wait("second", "/secondary", 404).await?;
    fixture.manifests.ingress(&patient("second", "/"))?;
    wait("second", "/secondary", 200).await?;
    ensure!(reloads() == known + 1, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_come_together_share_a_reload() -> Result<()> {
    const HOSTS: usize = 20;
    let fixture = Fixture::start(1, 1).await?;
    let sluice = start_with(&fixture, &[NO_TABLE]).await?;
    let name = |number: usize| format!("host{number}");
    for number in 0..HOSTS {
        fixture.manifests.ingress(&ingress(&name(number), "/"))?;
    }
    for number in 0..HOSTS {
        let host = format!("{}.test", name(number));
        sluice.wait_for_status(&host, "/", 200).await?;
    }
    // They are written in far less time than so many reloads take.
    let reloads = reloads(&sluice);
    ensure!(reloads <= HOSTS / 4, "{reloads} reloads");
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_changes_fail_no_request_of_another_host() -> Result<()> {
    const HOSTS: usize = 4;
    for (arguments, expected) in [(&[][..], 0), (&[NO_TABLE][..], HOSTS)] {
        let fixture = Fixture::start(2, 2).await?;
        let sluice = start_with(&fixture, arguments).await?;
        let request = page().header("connection", "close");
        let load = Load::new(sluice.http(), request)
            .connections(4)
            .pause(Duration::from_millis(1))
            .start();
        for n in 0..HOSTS {
            let host = format!("more-{n}.test");
            fixture.manifests.ingress(
                &Ingress::new("default", "more")
                    .host(&host)
                    .path("/", "web", 80),
            )?;
            sluice.wait_for_status(&host, "/", 200).await?;
        }
        let tally = load.stop().await?;
        ensure!(
            tally.failed() == 0 && reloads(&sluice) >= expected,
            "{tally}\n{}",
            sluice.log().tail()
        );
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_nginx_and_dead_worker_are_restarted() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let sluice = start(&fixture).await?;
    let (master, workers) = processes(&sluice)?;
    process::signal_by_name(*workers.first().context("a worker")?, "SIGKILL")?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    ensure!(processes(&sluice)?.0 == master, "the master stays");

    // Its workers would go on for ever, and keep the port.
    let (master, orphans) = processes(&sluice)?;
    process::signal_by_name(master, "SIGKILL")?;
    let new = async || {
        processes(&sluice)
            .ok()
            .filter(|(pid, workers)| *pid != master && !workers.is_empty())
    };
    wait::until("another nginx", new)
        .await
        .with_context(|| sluice.log().tail())?;
    let ended = async || {
        orphans
            .iter()
            .all(|orphan| !proc::is_running(*orphan))
            .then_some(())
    };
    wait::until("the end of the orphans", ended).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controller_is_healthy_while_nginx_serves() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = start(&fixture).await?;
    let health = async || http::get(sluice.health(), "health", "/healthz").await.ok();
    ensure!(
        health().await.is_some_and(|page| page.status == 200),
        "{:?}",
        health().await
    );
    // Each new one dies at once, for as long as that takes to be seen.
    let (mut master, _) = processes(&sluice)?;
    process::signal_by_name(master, "SIGKILL")?;
    let unhealthy = async || {
        if let Ok((pid, _)) = processes(&sluice)
            && pid != master
        {
            master = pid;
            process::signal_by_name(pid, "SIGKILL").ok()?;
        }
        health()
            .await
            .filter(|page| page.status == 500 && page.text().contains("nginx"))
    };
    wait::until("the controller to be unhealthy", unhealthy).await?;
    wait::until("the controller to be healthy", async || {
        health().await.filter(|page| page.status == 200)
    })
    .await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_finish_before_shutdown() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = start(&fixture).await?;
    fixture.pods[0]
        .script(sluice_tests::script::Script::status(200).delay(Duration::from_millis(700)));
    let (addr, before) = (sluice.http(), fixture.pods[0].hits());
    let open = tokio::spawn(async move { sluice_tests::http::send(addr, &page()).await });
    wait::until("the request at the pod", async || {
        (fixture.pods[0].hits() > before).then_some(())
    })
    .await?;
    tokio::task::spawn_blocking(move || sluice.stop()).await??;
    ensure!(open.await??.status == 200);
    Ok(())
}

/// A metric of the controller, by the end of its name.
async fn metric(sluice: &Sluice, name: &str) -> Result<f64> {
    let page = http::get(sluice.health(), "metrics", "/metrics")
        .await?
        .text();
    let prefix = format!("nginx_ingress_controller_{name}");
    let of = |line: &&str| {
        line.strip_prefix(&prefix)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    let line = page
        .lines()
        .find(of)
        .with_context(|| format!("no {prefix}"))?;
    line.rsplit(' ')
        .next()
        .unwrap_or_default()
        .parse()
        .context("a number")
}

const REJECTED_WORD: &str = "unheard-of";

/// An nginx that refuses one word.
fn rejecting_nginx() -> Result<(TempDir, PathBuf)> {
    let folder = TempDir::new()?;
    let (script, nginx) = (folder.path().join("nginx"), artifacts::managed_nginx()?);
    let refuses = format!(
        "for last; do :; done; case \" $* \" in *\" -t \"*) ! grep -q {REJECTED_WORD} \"$last\" || exit 1;; esac"
    );
    fs::write(
        &script,
        format!("#!/bin/sh\n{refuses}\nexec {} \"$@\"\n", nginx.display()),
    )?;
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755))?;
    Ok((folder, script))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_configuration_is_counted_and_the_last_good_one_stays() -> Result<()> {
    let fixture = Fixture::start(2, 1).await?;
    let settings = |agent: &str| {
        fixture.manifests.object(&json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": "sluice"},
            "data": {"block-user-agents": agent},
        }))
    };
    settings("bad")?;
    let arguments = ["--configmap", "default/sluice"].map(str::to_owned).into();
    let (_folder, nginx) = rejecting_nginx()?;
    let options = Options::new(&fixture.manifests)
        .arguments(arguments)
        .data_plane("nginx")
        .nginx(&nginx);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let state = async || -> Result<(f64, f64, f64)> {
        let successful = metric(&sluice, "config_last_reload_successful").await?;
        Ok((
            successful,
            metric(&sluice, "success").await?,
            metric(&sluice, "errors").await?,
        ))
    };
    ensure!(state().await? == (1.0, 1.0, 0.0), "{:?}", state().await?);
    let first = metric(&sluice, "config_hash").await?;

    settings(REJECTED_WORD)?;
    // Pages are up to a second old: what is in its place may be taken by then.
    let refused = async || state().await.ok().filter(|(_, _, errors)| *errors > 0.0);
    let ((_, before, _), _) = wait::until("the refusal to be counted", refused)
        .await
        .with_context(|| sluice.log().tail())?;
    // Endpoints do not need nginx's consent.
    fixture.endpoints(&[1])?;
    sluice.wait_for_pod(HOST, "web-1").await?;

    settings("worse")?;
    let taken = async || {
        let (successful, success, errors) = state().await.ok()?;
        let is_another = metric(&sluice, "config_hash").await.ok()? != first;
        (successful > 0.0 && success > before && errors <= 1.0 && is_another).then_some(())
    };
    wait::until("the reload to be counted", taken)
        .await
        .with_context(|| sluice.log().tail())?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_features_are_reported_on_the_ingress() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture.manifests.ingress(
        &Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80),
    )?;
    let grpc = Ingress::new("default", "grpc")
        .host("grpc.test")
        .path("/", "web", 80)
        .annotation("backend-protocol", "GRPC")
        .annotation("auth-url", "http://auth.test/")
        .annotation("auth-response-headers", &format!("x-{}", "n".repeat(200)));
    fixture.manifests.ingress(&grpc)?;
    let sluice = start(&fixture).await?;
    let said = "route grpc.test/: a text longer than nginx reads";
    ensure!(
        sluice.log().lines().iter().any(|line| line.contains(said)),
        "{}",
        sluice.log().tail()
    );
    sluice.stop()
}
