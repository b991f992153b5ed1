//! One look at a cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail};
use sluice_kube::{Access, Notification, watch};
use sluice_source::{Event, Problem};
use sluice_tasks::Tasks;
use sluice_translate::{Kind, Options};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

use crate::args::SourceArgs;

/// An API server that takes longer for its first answer is as good as gone.
const ANSWER: Duration = Duration::from_secs(6);
/// One that says nothing for so long while it is read is gone by now.
const SILENCE: Duration = Duration::from_secs(60);

/// Everything that the controller would hear of, until it has heard all.
pub(crate) fn read(source: &SourceArgs, options: &Options) -> anyhow::Result<Vec<Event>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    runtime.block_on(look(&source.access(), source, options))
}

/// The same within a runtime, by another way than the source's own.
pub(crate) async fn look(
    access: &Access,
    source: &SourceArgs,
    options: &Options,
) -> anyhow::Result<Vec<Event>> {
    let client = sluice_kube::connect_now(access, ANSWER).await?;
    let (events, heard) = mpsc::unbounded_channel();
    // Nothing writes status.
    let (changed_ingresses, _) = mpsc::unbounded_channel();
    let (notifications, reported) = mpsc::unbounded_channel();
    let always: BTreeSet<_> = options
        .config_maps()
        .map(|key| (Kind::ConfigMap, key.clone()))
        .collect();
    let namespace_selector = source.watch_namespace_selector.clone();
    let settings = watch::Settings {
        options: options.clone(),
        pod_weights: source.pod_weights,
        namespace_selector,
        always,
    };
    let listeners = watch::Listeners {
        events,
        changed_ingresses,
        notifications,
    };
    let tasks = Tasks::default();
    let followed = watch::follow(client, settings, listeners, &tasks);
    match timeout(SILENCE, followed).await {
        Ok(followed) => followed?,
        Err(_) => bail!("the API server says nothing more for {SILENCE:?}"),
    }
    let mut events = tokio::select! {
        events = until_ready(heard) => events?,
        failure = tasks.failed() => return Err(failure.into()),
    };
    events.extend(unreadable(reported));
    Ok(events)
}

async fn until_ready(mut heard: UnboundedReceiver<Vec<Event>>) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    while !events.contains(&Event::Ready) {
        match timeout(SILENCE, heard.recv()).await {
            Ok(Some(batch)) => events.extend(batch),
            Ok(None) => break,
            Err(_) => bail!(
                "the API server says nothing more for {SILENCE:?}; may this account list all that docs/install.md names?"
            ),
        }
    }
    Ok(events)
}

/// Objects that are there and cannot be read.
fn unreadable(mut reported: UnboundedReceiver<Vec<Notification>>) -> Vec<Event> {
    let mut events = Vec::new();
    while let Ok(notifications) = reported.try_recv() {
        for report in notifications {
            if let Notification::ReportAdded(report) = report {
                let reason = format!("{}: {}", report.field, report.reason);
                let problem = Problem::new(report.object.to_string(), reason);
                events.push(Event::Problem(problem));
            }
        }
    }
    events
}
