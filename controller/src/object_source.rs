//! Source of objects: a directory of manifests, or a cluster.

use sluice_kube::{ClusterTasks, Election, Inbox, Notification, watch};
use sluice_source::{Event, Files};
use sluice_tasks::Tasks;
use sluice_translate::{Kind, Options};
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::args::{ObjectSource, Run};

/// The source, the handles that keep it alive, and the receiver of reports.
pub(crate) struct Source {
    _files: Option<Files>,
    cluster: Option<ClusterTasks>,
    pub(crate) notifications: Option<UnboundedSender<Vec<Notification>>>,
}

impl Source {
    /// The election that we take part in, if any.
    pub(crate) fn election(&self) -> Option<Election> {
        self.cluster.as_ref()?.leads.clone()
    }

    /// Takes back what only holds while we serve.
    pub(crate) async fn leave(self) {
        if let Some(cluster) = self.cluster {
            cluster.leave().await;
        }
    }
}

/// A folder, or a cluster: as the flags say.
pub(crate) fn from_args(args: &Run) -> anyhow::Result<ObjectSource> {
    args.source.origin(sluice_kube::is_in_cluster())
}

/// Begins to follow it.
pub(crate) async fn follow(
    args: &Run,
    options: &Options,
    events: UnboundedSender<Vec<Event>>,
    tasks: &Tasks,
) -> anyhow::Result<Source> {
    let folder = match from_args(args)? {
        ObjectSource::Files(folder) => folder,
        ObjectSource::Kube => return follow_cluster(args, options, events, tasks).await,
    };
    Ok(Source {
        _files: Some(Files::follow(&folder, events, tasks)?),
        cluster: None,
        notifications: None,
    })
}

async fn follow_cluster(
    args: &Run,
    options: &Options,
    events: UnboundedSender<Vec<Event>>,
    tasks: &Tasks,
) -> anyhow::Result<Source> {
    let client = sluice_kube::connect(&args.source.access()).await?;
    let (changed_ingresses, sighted) = mpsc::unbounded_channel();
    let (notifications, heard) = mpsc::unbounded_channel();
    let inbox = Inbox {
        changed_ingresses: sighted,
        notifications: heard,
    };
    let cluster = ClusterTasks::start(&client, args.cluster.duties(), inbox, tasks)?;
    let settings = watch::Settings {
        options: options.clone(),
        pod_weights: args.source.pod_weights,
        namespace_selector: args.source.watch_namespace_selector.clone(),
        always: options
            .config_maps()
            .map(|key| (Kind::ConfigMap, key.clone()))
            .collect(),
    };
    let listeners = watch::Listeners {
        events,
        changed_ingresses,
        notifications: notifications.clone(),
    };
    watch::follow(client, settings, listeners, tasks).await?;
    Ok(Source {
        _files: None,
        cluster: Some(cluster),
        notifications: Some(notifications),
    })
}
