//! What the controller has to do with a cluster besides reading it: who leads, what Ingresses have as their status, and
//! Events for what is wrong.
//!
//! ```text
//!   connect --client--> source::kube --Sighting--> status::Writer --+
//!                  |            publish --News--> events::Recorder -+--> API server
//!                  +--> lease::Candidate --leads?--^----^           |
//!                                  +--------------------------------+
//! ```
//!
//! Nothing here is on the way of traffic: when the API server is gone, all of this waits.

mod addresses;
mod connect;
mod events;
mod identity;
mod lease;
mod reloaded;
mod status;

use kube::Client;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::args::ClusterArgs;
use crate::metrics::Election;
use crate::reports::News;
use crate::source::kube::Sighting;
use sluice_tasks::Tasks;

pub(crate) use connect::{connect, is_in_cluster, read as read_kubeconfig};
pub(crate) use identity::{Identity, own_namespace};

/// The name that our writes carry.
const MANAGER: &str = "sluice";

/// What is heard from the rest of the controller.
pub(crate) struct Inbox {
    pub(crate) sightings: UnboundedReceiver<Vec<Sighting>>,
    pub(crate) news: UnboundedReceiver<Vec<News>>,
}

/// Everything that runs beside the traffic.
pub(crate) struct Cluster {
    election: Option<Task>,
    writer: Option<Task>,
    /// The Lease, and whether we hold it; `None` without an election.
    pub(crate) leads: Option<Election>,
    /// Without an election everybody leads; nobody may drop that.
    _always: watch::Sender<bool>,
}

/// A task that ends in an orderly way when it is told to.
struct Task {
    stop: CancellationToken,
    handle: JoinHandle<()>,
}

impl Task {
    fn spawn<F>(tasks: &Tasks, name: &'static str, run: impl FnOnce(CancellationToken) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = CancellationToken::new();
        Task { handle: tasks.spawn(name, run(stop.clone())), stop }
    }

    async fn end(self) {
        self.stop.cancel();
        // It ends by itself; if it panicked, that was said already.
        self.handle.await.ok();
    }
}

impl Cluster {
    /// Starts the election and the writers.
    pub(crate) fn start(
        client: &Client,
        flags: &ClusterArgs,
        inbox: Inbox,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let identity = Identity::find(client)?;
        info!("we are {}/{}", identity.namespace, identity.pod);
        let (always, everybody) = watch::channel(true);
        let (election, leads) = match elect(client, flags, &identity, tasks) {
            Some((election, leads)) => (Some(election), leads),
            None => (None, everybody),
        };
        let name = flags.election_id.clone();
        let election_of_ours = election.is_some().then(|| Election { name, leads: leads.clone() });
        let recorder = events::Recorder::new(client.clone(), identity.clone(), leads.clone());
        tasks.spawn("event recorder", recorder.run(inbox.news));
        // As ingress-nginx: without an election nobody writes status, because everybody would.
        let writer = (flags.update_status && election.is_some()).then(|| {
            let settings = status::Settings {
                publish: publish(flags),
                interval: flags.status_update_interval(),
                clear_on_shutdown: flags.update_status_on_shutdown,
            };
            let writer = status::Writer::new(client.clone(), identity, settings, leads);
            Task::spawn(tasks, "status writer", |stop| writer.run(inbox.sightings, stop))
        });
        Ok(Cluster { election, writer, leads: election_of_ours, _always: always })
    }

    /// Takes our addresses out of the status if nobody else serves, then gives up the lead.
    pub(crate) async fn leave(self) {
        for task in [self.writer, self.election].into_iter().flatten() {
            task.end().await;
        }
    }
}

fn elect(
    client: &Client,
    flags: &ClusterArgs,
    identity: &Identity,
    tasks: &Tasks,
) -> Option<(Task, watch::Receiver<bool>)> {
    if flags.disable_leader_election {
        info!("no leader election: no status is written, and every replica writes Events");
        return None;
    }
    let times = lease::Times::new(flags.election_ttl);
    let (candidate, leads) = lease::Candidate::new(client.clone(), &flags.election_id, identity, times);
    Some((Task::spawn(tasks, "leader election", |stop| candidate.run(stop)), leads))
}

fn publish(flags: &ClusterArgs) -> addresses::Publish {
    if !flags.publish_status_address.is_empty() {
        return addresses::Publish::Fixed(flags.publish_status_address.clone());
    }
    match &flags.publish_service {
        Some(service) => addresses::Publish::Service(service.clone()),
        None => addresses::Publish::Nodes {
            selector: flags.publish_pods.clone(),
            internal: flags.report_node_internal_ip_address,
        },
    }
}
