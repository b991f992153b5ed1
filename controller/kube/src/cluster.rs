//! Writes to a cluster: the leader's Lease, status of Ingresses, and Events.

use std::time::Duration;

use kube::Client;
use sluice_tasks::Tasks;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::identity::Identity;
use crate::watch::IngressRef;
use crate::{Notification, events, lease, status};

/// Objects to write, and the identity of the writer. Events about reports are always written.
#[derive(Clone, Debug)]
pub struct Duties {
    /// The election to take part in; without one every replica writes Events, and none writes status.
    pub election: Option<Candidacy>,
    /// The status of Ingresses; `None`: it is left alone.
    pub status: Option<status::Settings>,
    /// An Event `Sync` for each change of an Ingress.
    pub sync_events: bool,
}

/// Leader election by a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidacy {
    /// Name of the Lease, in the namespace of our pod.
    pub lease: String,
    /// Lease duration before another replica may take over, at least a second.
    pub duration: Duration,
}

/// Our part in a leader election.
#[derive(Clone, Debug)]
pub struct Election {
    /// Of the Lease.
    pub name: String,
    /// True while we hold the Lease.
    pub leads: watch::Receiver<bool>,
}

/// Messages from the rest of the controller.
pub struct Inbox {
    /// Ingresses as [`crate::watch::follow`] sees them.
    pub changed_ingresses: UnboundedReceiver<Vec<IngressRef>>,
    /// Reports that appear and disappear.
    pub notifications: UnboundedReceiver<Vec<Notification>>,
}

/// Everything that runs beside the traffic.
pub struct ClusterTasks {
    election: Option<Task>,
    writer: Option<Task>,
    /// The Lease, and whether we hold it; `None` without an election.
    pub leads: Option<Election>,
    /// Without an election every replica leads; this sender must live.
    _always: watch::Sender<bool>,
}

/// A task that ends in an orderly way on request.
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
        Task {
            handle: tasks.spawn(name, run(stop.clone())),
            stop,
        }
    }

    async fn end(self) {
        self.stop.cancel();
        // It ends by itself; a panic was logged already.
        self.handle.await.ok();
    }
}

impl ClusterTasks {
    /// Starts the election and the writers. Fails when it cannot be known who we are.
    pub fn start(
        client: &Client,
        duties: Duties,
        inbox: Inbox,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let identity = Identity::find(client)?;
        info!("we are {}/{}", identity.namespace, identity.pod);
        let (always, everybody) = watch::channel(true);
        let (election, election_of_ours) = duties
            .election
            .map(|candidacy| elect(client, candidacy, &identity, tasks))
            .unzip();
        if election.is_none() {
            info!("no leader election: no status is written, and every replica writes Events");
        }
        let leads = election_of_ours
            .as_ref()
            .map_or(everybody, |election: &Election| election.leads.clone());
        let recorder = events::Recorder::new(
            client.clone(),
            identity.clone(),
            leads.clone(),
            duties.sync_events,
        );
        tasks.spawn("event recorder", recorder.run(inbox.notifications));
        // As ingress-nginx: without an election no replica writes status, because all would.
        let writer = duties
            .status
            .filter(|_| election.is_some())
            .map(|settings| {
                let writer = status::Writer::new(client.clone(), identity, settings, leads);
                Task::spawn(tasks, "status writer", |stop| {
                    writer.run(inbox.changed_ingresses, stop)
                })
            });
        Ok(ClusterTasks {
            election,
            writer,
            leads: election_of_ours,
            _always: always,
        })
    }

    /// Removes our addresses from the status if no other replica serves, then gives up the lead.
    pub async fn leave(self) {
        for task in [self.writer, self.election].into_iter().flatten() {
            task.end().await;
        }
    }
}

fn elect(
    client: &Client,
    candidacy: Candidacy,
    identity: &Identity,
    tasks: &Tasks,
) -> (Task, Election) {
    let Candidacy {
        lease: name,
        duration,
    } = candidacy;
    let times = lease::Times::new(duration);
    let (candidate, leads) = lease::Candidate::new(client.clone(), &name, identity, times);
    let task = Task::spawn(tasks, "leader election", |stop| candidate.run(stop));
    (task, Election { name, leads })
}
