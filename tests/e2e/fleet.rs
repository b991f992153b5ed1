//! The clients of the fleet benchmark against a small controller, so that it measures what it says.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::fleet::{Behaviour, Fleet, Kind, Progress};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;

const CLIENTS: usize = 5;
const HOSTS: usize = 20;
const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_has_everything_sees_a_change_and_comes_back_without_being_sent_what_it_has()
-> Result<()> {
    let (manifests, network) = (Manifests::new()?, Network::reserve()?);
    for n in 0..HOSTS {
        let (name, host) = (format!("app-{n}"), format!("app-{n}.test"));
        manifests.service("default", &name, 80, &network.pods(3))?;
        let ingress = Ingress::new("default", &name).host(&host);
        manifests.ingress(&ingress.path("/", &name, 80))?;
    }
    let folder = tempfile::tempdir()?;
    let xds = format!("unix:{}", folder.path().join("xds.sock").display());
    let options = || {
        Options::new(&manifests)
            .without_data_plane()
            .xds(&xds)
            .arguments(vec!["--scopes-from".to_owned(), "0".to_owned()])
    };
    let mut fleet = Fleet::new(&xds);
    fleet.join(CLIENTS + 2);
    let mut controller = options().start().await?;
    fleet.wait(LIMIT, "to have everything", has_all).await?;

    // Who stops reading, or answers nothing, holds up nobody.
    fleet.break_down(1, Behaviour::Stopped);
    fleet.break_down(1, Behaviour::Mute);
    let change = |n: u16| {
        fleet.expect(&network.pod(n).ip().to_string());
        manifests.endpoints("default", "app-7", &[network.pod(0), network.pod(n)])
    };
    change(100)?;
    fleet.acknowledged(LIMIT).await?;

    let (_, before) = fleet.received();
    controller.kill()?;
    change(200)?;
    let controller = options().after(&controller).start().await?;
    fleet.acknowledged(LIMIT).await?;
    let (_, after) = fleet.received();
    let sent = usize::try_from(after - before)?;
    ensure!(
        (CLIENTS..=2 * CLIENTS).contains(&sent),
        "{CLIENTS} clients were to be sent the endpoints that changed, with those that leave and without, and were sent {sent} \
         resources"
    );
    controller.stop()
}

fn has_all(progress: &Progress) -> bool {
    let hosts = [Kind::Cluster, Kind::Endpoints, Kind::Scope]
        .into_iter()
        .all(|kind| progress.of(kind) >= HOSTS);
    let others = [Kind::Listener, Kind::Extension]
        .into_iter()
        .all(|kind| progress.of(kind) > 0);
    hosts && others && progress.missing == 0
}
