//! Scopes of watches: all namespaces, or one; with a selector they come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use kube::Client;
use sluice_tasks::Tasks;
use sluice_translate::{Kind, ObjectKey};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::outage::Outage;

use super::mirror::{Scope, WatchEvent, watch};

/// Watch of a kind in the namespaces that are served.
enum Delivery {
    /// Whole objects.
    Whole,
    /// Metadata; an object is fetched if something refers to it.
    Named,
    /// Metadata, if options ask for it.
    Optional,
    /// None: of these the cluster is watched, not its namespaces.
    ClusterScoped,
}

fn delivery(kind: Kind) -> Delivery {
    match kind {
        Kind::EndpointSlice | Kind::Ingress | Kind::Service => Delivery::Whole,
        Kind::ConfigMap | Kind::Secret => Delivery::Named,
        Kind::Pod => Delivery::Optional,
        Kind::IngressClass | Kind::Namespace => Delivery::ClusterScoped,
    }
}

/// Tells one watch from another.
pub(super) type WatchId = u64;

/// Event of a watch, and which one.
#[derive(Debug)]
pub(super) enum ScopeEvent {
    Whole(WatchId, Kind, WatchEvent<false>),
    Head(WatchId, Kind, WatchEvent<true>),
    Fetched(super::fetch::Fetched),
}

/// The watches that run.
pub(super) struct Scopes {
    client: Client,
    sender: mpsc::Sender<ScopeEvent>,
    next: WatchId,
    pods: bool,
    /// Watches whose initial list is not complete.
    listing: BTreeSet<WatchId>,
    /// Tokens that end the watches of selected namespaces, and the ids of these.
    selected: BTreeMap<String, (CancellationToken, RangeInclusive<WatchId>)>,
    tasks: Tasks,
    outage: Outage,
}

impl Scopes {
    pub(super) fn new(
        client: Client,
        sender: mpsc::Sender<ScopeEvent>,
        pods: bool,
        tasks: Tasks,
        outage: Outage,
    ) -> Self {
        let (listing, selected) = (BTreeSet::new(), BTreeMap::new());
        Scopes {
            client,
            sender,
            next: 0,
            pods,
            listing,
            selected,
            tasks,
            outage,
        }
    }

    /// True if the initial lists of all watches are complete.
    pub(super) fn are_listed(&self) -> bool {
        self.listing.is_empty()
    }

    /// A watch has.
    pub(super) fn listed(&mut self, id: WatchId) {
        self.listing.remove(&id);
    }

    /// Watches everything in one namespace, or in all of them.
    pub(super) fn open(&mut self, namespace: Option<&str>) {
        self.open_until(namespace, &CancellationToken::new());
    }

    /// Watches a kind without namespaces.
    pub(super) fn watch_cluster(&mut self, kind: Kind) {
        self.watch_whole(Scope::all(kind), CancellationToken::new());
    }

    /// Watches one object by name.
    pub(super) fn watch_one(&mut self, kind: Kind, key: &ObjectKey) {
        let fields = Some(format!("metadata.name={}", key.name));
        let scope = Scope {
            namespace: Some(key.namespace.to_string()),
            fields,
            ..Scope::all(kind)
        };
        self.watch_whole(scope, CancellationToken::new());
    }

    /// Watches the namespaces with these labels.
    pub(super) fn select(&mut self, selector: &str) {
        let scope = Scope {
            labels: Some(selector.to_owned()),
            ..Scope::all(Kind::Namespace)
        };
        self.watch_head(scope, CancellationToken::new());
    }

    /// A namespace is selected now, or still is.
    pub(super) fn enter(&mut self, namespace: &str) {
        if !self.selected.contains_key(namespace) {
            let stop = CancellationToken::new();
            let before = self.next;
            self.open_until(Some(namespace), &stop);
            let watches = before + 1..=self.next;
            self.selected.insert(namespace.to_owned(), (stop, watches));
        }
    }

    /// A namespace is gone, or no longer selected.
    pub(super) fn leave(&mut self, namespace: &str) {
        if let Some((stop, watches)) = self.selected.remove(namespace) {
            stop.cancel();
            // Nobody waits for lists that never come.
            self.listing.retain(|id| !watches.contains(id));
        }
    }

    fn open_until(&mut self, namespace: Option<&str>, stop: &CancellationToken) {
        let scope = |kind| Scope {
            namespace: namespace.map(str::to_owned),
            ..Scope::all(kind)
        };
        for &kind in Kind::ALL {
            match delivery(kind) {
                Delivery::Whole => self.watch_whole(scope(kind), stop.clone()),
                Delivery::Named => {
                    // Releases of Helm are Secrets of megabytes, and nothing ever names them.
                    let fields =
                        (kind == Kind::Secret).then(|| "type!=helm.sh/release.v1".to_owned());
                    let scope = Scope {
                        fields,
                        ..scope(kind)
                    };
                    self.watch_head(scope, stop.clone());
                }
                Delivery::Optional if self.pods => self.watch_head(scope(kind), stop.clone()),
                Delivery::Optional | Delivery::ClusterScoped => {}
            }
        }
    }

    fn watch_whole(&mut self, scope: Scope, stop: CancellationToken) {
        let (id, kind, client, sender) = self.start(&scope);
        let name = format!("watch of {scope}");
        let outage = self.outage.clone();
        let tell = async move |event| {
            sender
                .send(ScopeEvent::Whole(id, kind, event))
                .await
                .is_ok()
        };
        self.tasks
            .spawn_finite(name, watch(client, scope, outage, stop, tell));
    }

    fn watch_head(&mut self, scope: Scope, stop: CancellationToken) {
        let (id, kind, client, sender) = self.start(&scope);
        let name = format!("watch of {scope}");
        let outage = self.outage.clone();
        let tell = async move |event| sender.send(ScopeEvent::Head(id, kind, event)).await.is_ok();
        self.tasks
            .spawn_finite(name, watch(client, scope, outage, stop, tell));
    }

    fn start(&mut self, scope: &Scope) -> (WatchId, Kind, Client, mpsc::Sender<ScopeEvent>) {
        self.next += 1;
        self.listing.insert(self.next);
        (
            self.next,
            scope.kind,
            self.client.clone(),
            self.sender.clone(),
        )
    }
}
