//! A controller that is killed leaves a data plane that serves. The next one of its run folder takes that over, tells it what
//! is new, looks after it, and no request fails meanwhile; and there is never more than one.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::load::{Load, Running};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::{artifacts, proc, process, wait};
use tempfile::TempDir;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    running_data_plane_is_adopted_without_failed_requests,
    data_plane_with_other_arguments_is_replaced,
    terminating_data_plane_is_replaced,
    dead_data_plane_is_restarted,
    run_dir_belongs_to_one_controller,
);

const HOST: &str = "old.test";

/// Background traffic: one request after the other.
struct Clients(Vec<Running>);

impl Clients {
    /// Some keep their connections, others make one for each request.
    fn persistent_and_new(sluice: &Sluice) -> Clients {
        let mut clients = Clients::new_per_request(sluice);
        clients.0.push(load(sluice, Request::get(HOST, "/")));
        clients
    }

    /// They make a connection for each request. nginx closes connections at rest whenever it takes routes, also under a
    /// request that is on its way.
    fn new_per_request(sluice: &Sluice) -> Clients {
        Clients(vec![load(
            sluice,
            Request::get(HOST, "/").header("connection", "close"),
        )])
    }

    /// Waits until all have got some more answers.
    async fn make_progress(&self) -> Result<()> {
        for load in &self.0 {
            let before = load.tally().total();
            load.until("more answers", |tally| tally.total() > before + 50)
                .await?;
        }
        Ok(())
    }

    async fn ensure_no_failures(self) -> Result<()> {
        for load in self.0 {
            let tally = load.stop().await?;
            ensure!(tally.failed() == 0, "{tally}");
        }
        Ok(())
    }
}

fn load(sluice: &Sluice, request: Request) -> Running {
    Load::new(sluice.http(), request)
        .connections(2)
        .pause(Duration::from_millis(2))
        .start()
}

/// The owner's host is served, and the controller is killed.
async fn start_and_kill_controller(plane: Plane, tenants: &Tenants) -> Result<(Sluice, u32)> {
    tenants
        .manifests
        .ingress(&Ingress::new(OWNER, "old").host(HOST).path("/", "web", 80))?;
    let mut sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let data_plane = sluice.data_plane_pid().context("no data plane")?;
    sluice.kill()?;
    ensure!(
        proc::is_running(data_plane),
        "the data plane died with its controller"
    );
    Ok((sluice, data_plane))
}

/// All paths of NAME.test.
fn ingress_for(namespace: &str, name: &str) -> Ingress {
    let host = format!("{name}.test");
    Ingress::new(namespace, name)
        .host(&host)
        .path("/", "web", 80)
}

async fn running_data_plane_is_adopted_without_failed_requests(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (first, data_plane) = start_and_kill_controller(plane, &tenants).await?;
    // Nothing is new, and nothing is to be told.
    let clients = Clients::persistent_and_new(&first);
    clients.make_progress().await?;
    let mut second = plane
        .options(&tenants.manifests)
        .after(&first)
        .start()
        .await?;
    second.log().wait_for("adopted").await?;
    clients.make_progress().await?;
    tenants
        .manifests
        .endpoints(OWNER, "web", &[tenants.foreign.addr()])?;
    second.wait_for_pod(HOST, FOREIGN).await?;
    second.kill()?;
    clients.make_progress().await?;
    clients.ensure_no_failures().await?;

    // What is new while nobody looks.
    let envoy = plane != Plane::Nginx;
    let clients = if envoy {
        Clients::persistent_and_new(&first)
    } else {
        Clients::new_per_request(&first)
    };
    tenants.manifests.ingress(&ingress_for(FOREIGN, "new"))?;
    tenants
        .manifests
        .endpoints(OWNER, "web", &[tenants.owner.addr()])?;
    clients.make_progress().await?;
    let third = plane
        .options(&tenants.manifests)
        .after(&first)
        .start()
        .await?;
    third.wait_for_pod("new.test", FOREIGN).await?;
    third.wait_for_pod(HOST, OWNER).await?;
    tenants.manifests.ingress(&ingress_for(OWNER, "newer"))?;
    third.wait_for_pod("newer.test", OWNER).await?;
    clients.make_progress().await?;
    clients.ensure_no_failures().await?;
    ensure!(
        third.data_plane_pid() == Some(data_plane),
        "it was not adopted: {}",
        third.log().tail()
    );

    // It is looked after like one's own.
    process::kill(data_plane);
    let replacement = async || third.data_plane_pid().filter(|pid| *pid != data_plane);
    wait::until("another data plane", replacement).await?;
    third.wait_for_pod("newer.test", OWNER).await?;
    let last = third.data_plane_pid().context("no data plane")?;
    third.stop()?;
    ensure!(!proc::is_running(last), "it outlives an orderly end");
    Ok(())
}

/// The same program, elsewhere.
fn copy(program: PathBuf) -> Result<(TempDir, PathBuf)> {
    let folder = TempDir::new()?;
    let path = folder.path().join(program.file_name().context("no name")?);
    fs::copy(program, &path)?;
    Ok((folder, path))
}

async fn data_plane_with_other_arguments_is_replaced(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (first, former) = start_and_kill_controller(plane, &tenants).await?;
    let load = Load::new(first.http(), Request::get(HOST, "/"))
        .pause(Duration::from_millis(2))
        .start();
    load.until("answers", |tally| tally.total() > 50).await?;
    let options = plane.options(&tenants.manifests).after(&first);
    let (_folder, options) = match plane {
        Plane::Nginx => copy(artifacts::managed_nginx()?)
            .map(|(folder, copy)| (folder, options.nginx(&copy)))?,
        Plane::EnvoyTable => {
            copy(artifacts::envoy()?).map(|(folder, copy)| (folder, options.envoy(&copy)))?
        }
        Plane::EnvoyScopes => (
            TempDir::new()?,
            options.arguments(vec!["--zone=other".to_owned()]),
        ),
    };
    let second = options.start().await?;
    wait::until("the former one to end", async || {
        (!proc::is_running(former)).then_some(())
    })
    .await?;
    second.wait_for_pod(HOST, OWNER).await?;
    let tally = load.stop().await?;
    // nginx has to leave its ports before another program can have them.
    ensure!(
        tally.failed() == 0 || plane == Plane::Nginx,
        "{tally}\n{}",
        second.log().tail()
    );
    ensure!(
        second.data_plane_pid().is_some_and(|pid| pid != former),
        "{}",
        second.log().tail()
    );
    second.stop()
}

async fn terminating_data_plane_is_replaced(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .ingress(&Ingress::new(OWNER, "old").host(HOST).path("/", "web", 80))?;
    let mut first = plane.options(&tenants.manifests).start().await?;
    first.wait_for_status(HOST, "/", 200).await?;
    let former = first.data_plane_pid().context("no data plane")?;
    tenants
        .owner
        .script(Script::echo().delay(Duration::from_millis(1500)));
    let (addr, before) = (first.http(), tenants.owner.hits());
    let open = tokio::spawn(async move { http::get(addr, HOST, "/").await });
    wait::until("the request to arrive", async || {
        (tenants.owner.hits() > before).then_some(())
    })
    .await?;
    tenants.owner.script(Script::echo());
    first.signal("SIGTERM")?;
    let closing = async || {
        let Ok(mut connection) = Connection::open(addr).await else {
            return Some(());
        };
        connection.send(&Request::get(HOST, "/")).await.ok();
        (!connection.is_reusable()).then_some(())
    };
    wait::until("clients to be sent elsewhere", closing).await?;
    first.kill()?;

    let second = plane
        .options(&tenants.manifests)
        .after(&first)
        .start()
        .await?;
    second.wait_for_pod(HOST, OWNER).await?;
    ensure!(open.await??.status == 200, "the open request was lost");
    wait::until("the former one to end", async || {
        (!proc::is_running(former)).then_some(())
    })
    .await?;
    second.wait_for_pod(HOST, OWNER).await?;
    ensure!(
        second.data_plane_pid().is_some_and(|pid| pid != former),
        "{}",
        second.log().tail()
    );
    second.stop()
}

async fn dead_data_plane_is_restarted(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    // Of nginx the master: its workers live on, have the ports, and take no configuration any more.
    let (first, data_plane) = start_and_kill_controller(plane, &tenants).await?;
    process::kill(data_plane);
    wait::until("its end", async || {
        (!proc::is_running(data_plane)).then_some(())
    })
    .await?;
    tenants.manifests.ingress(
        &Ingress::new(FOREIGN, "new")
            .host("new.test")
            .path("/", "web", 80),
    )?;
    let second = plane
        .options(&tenants.manifests)
        .after(&first)
        .start()
        .await?;
    second.wait_for_pod("new.test", FOREIGN).await?;
    second.stop()
}

async fn run_dir_belongs_to_one_controller(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .ingress(&Ingress::new(OWNER, "old").host(HOST).path("/", "web", 80))?;
    let first = plane.options(&tenants.manifests).start().await?;
    let data_plane = first.data_plane_pid();
    let second = plane.options(&tenants.manifests).after(&first).spawn()?;
    let log = second.log().clone();
    ensure!(!second.exit_status().await?.success());
    let expected = format!("process {} uses this directory", first.pid());
    ensure!(log.tail().contains(&expected), "{}", log.tail());
    ensure!(data_plane.is_some() && first.data_plane_pid() == data_plane);
    ensure!(http::get(first.http(), HOST, "/").await?.status == 200);
    first.stop()
}
