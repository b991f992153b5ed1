//! A cluster as a source: what the API server says becomes the events that a folder gives.
//!
//! ```text
//!   watch  Ingress, IngressClass, Service, EndpointSlice ---whole---+
//!   watch  Secret, ConfigMap ------metadata only---> Named          |
//!                                      ^   |read      |             v
//!                          what our Ingresses name <--+----- Collector --batches of Event--> publisher
//!                                                               |  Held: Ingresses that wait for what they name
//!   watch  Pod (--pod-weights) ----metadata only-------------> Collector
//!   watch  Namespace --(selector)--> scopes come and go             |
//!                                                                   +--IngressRef--> status
//! ```
//!
//! Whatever happens to the API server, nothing is taken away that it did not say is gone.

mod backoff;
mod collector;
mod fetch;
mod held;
mod ingresses;
mod invalid_objects;
mod mirror;
mod named;
mod raw;
mod references;
mod scopes;

use std::collections::BTreeSet;

use anyhow::Context;
use kube::api::ListParams;
use kube::{Api, Client};
use sluice_translate::{Kind, ObjectKey, Options};
use tokio::sync::mpsc::{self, UnboundedSender};
use tracing::warn;

use crate::Notification;
use crate::outage::Outage;
use backoff::retry;
use collector::Collector;
use fetch::Fetcher;
use scopes::Scopes;
use sluice_source::Event;
use sluice_tasks::Tasks;

pub use ingresses::IngressRef;
pub(crate) use ingresses::IngressStatus;
pub(crate) use raw::{Head, resource};

/// Settings of the cluster source.
#[derive(Clone, Debug)]
pub struct Settings {
    /// For the class rules, which decide whose Secrets are read.
    pub options: Options,
    /// Pods are followed, too, for the weights that they say.
    pub pod_weights: bool,
    /// Only namespaces with these labels; excludes `Options::watch_namespace`.
    pub namespace_selector: Option<String>,
    /// Secrets and ConfigMaps that flags name; they are watched one by one, wherever they are.
    pub always: BTreeSet<(Kind, ObjectKey)>,
}

/// Receivers of changes.
#[derive(Clone, Debug)]
pub struct Listeners {
    /// The publisher.
    pub events: UnboundedSender<Vec<Event>>,
    /// The writer of status.
    pub changed_ingresses: UnboundedSender<Vec<IngressRef>>,
    /// The writer of Events, for what cannot be read.
    pub notifications: UnboundedSender<Vec<Notification>>,
}

/// Follows a cluster until the runtime ends. Returns when the watches have begun; [`Event::Ready`] says that everything that was there
/// at the start has been said. Waits for an API server that is away; fails when it may not be asked, and when the only namespace to
/// watch does not exist.
pub async fn follow(
    client: Client,
    settings: Settings,
    listeners: Listeners,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    let outage = Outage::default();
    if let Some(namespace) = &settings.options.watch_namespace {
        must_exist(&client, namespace, &outage).await?;
    }
    let (sender, inbox) = mpsc::channel(1024);
    let mut scopes = Scopes::new(
        client.clone(),
        sender.clone(),
        settings.pod_weights,
        tasks.clone(),
        outage.clone(),
    );
    let classes = classes_are_readable(&client, &outage).await?;
    if classes {
        scopes.watch_cluster(Kind::IngressClass);
    }
    match (
        &settings.options.watch_namespace,
        &settings.namespace_selector,
    ) {
        (Some(namespace), _) => scopes.open(Some(namespace)),
        (None, Some(selector)) => scopes.select(selector),
        (None, None) => scopes.open(None),
    }
    for (kind, key) in &settings.always {
        scopes.watch_one(*kind, key);
    }
    let fetcher = Fetcher::new(client, sender, tasks.clone());
    let collector = Collector::new(fetcher, settings, scopes, listeners);
    tasks.spawn("cluster objects", collector.run(inbox, classes));
    Ok(())
}

/// As in ingress-nginx: a namespace that does not exist is an error at start.
async fn must_exist(client: &Client, namespace: &str, outage: &Outage) -> anyhow::Result<()> {
    let namespaces: Api<Head> = Api::all_with(client.clone(), &resource(Kind::Namespace));
    match retry(outage, async || namespaces.get_opt(namespace).await).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => anyhow::bail!("--watch-namespace {namespace}: no such namespace"),
        // Rights that end at a namespace do not cover the namespace itself.
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(()),
        Err(error) => Err(error).with_context(|| format!("--watch-namespace {namespace}")),
    }
}

/// True if IngressClasses may be listed. Otherwise only the annotation and `--watch-ingress-without-class` count.
async fn classes_are_readable(client: &Client, outage: &Outage) -> anyhow::Result<bool> {
    let classes: Api<Head> = Api::all_with(client.clone(), &resource(Kind::IngressClass));
    let one = ListParams::default().limit(1);
    match retry(outage, async || classes.list(&one).await).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_forbidden() => {
            warn!(
                "IngressClasses cannot be listed: spec.ingressClassName is not looked at, only the annotation is"
            );
            Ok(false)
        }
        Err(error) => Err(error).context("cannot list IngressClasses"),
    }
}
