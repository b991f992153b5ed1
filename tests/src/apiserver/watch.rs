//! A watch: what happened since a version, and what happens from now on, one JSON document a line.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};

use super::kinds::Kind;
use super::reply::Refusal;
use super::selector::Selector;
use super::store::{Change, Store};
use super::target::Target;

/// A quiet watch says so often where it stands.
const BOOKMARK: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(300);

/// Selects objects, and their form.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    pub(super) selector: Selector,
    pub(super) metadata_only: bool,
}

impl View {
    pub(super) fn new(target: &Target, metadata_only: bool) -> Self {
        let selector = Selector::parse(
            target.parameter("labelSelector"),
            target.parameter("fieldSelector"),
        );
        View {
            kind: target.kind,
            namespace: target.namespace.clone(),
            selector,
            metadata_only,
        }
    }

    pub(super) fn covers(&self, namespace: &str) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|wanted| wanted == namespace)
    }

    /// The object as the client asked for it.
    pub(super) fn form(&self, object: &Value) -> Value {
        if !self.metadata_only {
            return object.clone();
        }
        json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"],
        })
    }

    /// A change as seen by a watch with a selector.
    fn event(&self, change: &Change) -> Option<Value> {
        if change.kind != self.kind || !self.covers(&change.namespace) {
            return None;
        }
        let matching =
            |object: &Option<Arc<Value>>| object.clone().filter(|o| self.selector.matches(o));
        let (name, object) = match (matching(&change.before), matching(&change.after)) {
            (None, Some(after)) => ("ADDED", after),
            (Some(_), Some(after)) => ("MODIFIED", after),
            (Some(before), None) => ("DELETED", before),
            (None, None) => return None,
        };
        let mut object = self.form(&object);
        object["metadata"]["resourceVersion"] = change.revision.to_string().into();
        Some(json!({ "type": name, "object": object }))
    }
}

/// Writes events until the client hangs up, the time is over or the version is too old.
pub(super) async fn watch(
    store: Arc<Mutex<Store>>,
    target: Target,
    view: View,
    lines: Sender<Bytes>,
) {
    let lock = || store.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = target
        .parameter("timeoutSeconds")
        .and_then(|text| text.parse().ok());
    let end = Instant::now() + seconds.map_or(LONGEST, Duration::from_secs);
    let mut changes = lock().subscribe();
    let (mut at, first) = start(&lock(), &target, &view);
    let mut events = first;
    loop {
        for event in events.drain(..) {
            let is_error = event["type"] == "ERROR";
            if lines.send(line(&event)).await.is_err() || is_error {
                return;
            }
        }
        let wake = end.min(Instant::now() + BOOKMARK);
        let changed = tokio::select! {
            changed = timeout_at(wake, changes.changed()) => changed.is_ok(),
            () = lines.closed() => return,
        };
        if changed {
            (at, events) = news(&lock(), &view, at);
        } else if target.is_set("allowWatchBookmarks") {
            events.push(bookmark(view.kind, at));
        }
        if Instant::now() >= end {
            for event in &events {
                lines.send(line(event)).await.ok();
            }
            return;
        }
    }
}

/// The start of a watch. Without a version (or with 0), it begins with all existing objects.
fn start(store: &Store, target: &Target, view: &View) -> (u64, Vec<Value>) {
    match target.parameter("resourceVersion") {
        None | Some("0") => {
            let objects = store.list(view.kind, view.namespace.as_deref());
            let seen = objects.filter(|(_, _, object)| view.selector.matches(object));
            let added =
                seen.map(|(_, _, object)| json!({ "type": "ADDED", "object": view.form(object) }));
            (store.revision(), added.collect())
        }
        Some(version) => match version.parse() {
            Ok(version) => news(store, view, version),
            Err(_) => (
                0,
                vec![error(&Refusal::bad_request(
                    "resourceVersion: expected a number",
                ))],
            ),
        },
    }
}

fn news(store: &Store, view: &View, at: u64) -> (u64, Vec<Value>) {
    if at < store.oldest() {
        return (at, vec![error(&Refusal::expired())]);
    }
    let events = store
        .since(at)
        .iter()
        .filter_map(|change| view.event(change))
        .collect();
    (store.revision(), events)
}

fn error(refusal: &Refusal) -> Value {
    json!({ "type": "ERROR", "object": refusal.status() })
}

fn bookmark(kind: &Kind, at: u64) -> Value {
    let metadata = json!({ "resourceVersion": at.to_string() });
    let object = json!({ "apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata });
    json!({ "type": "BOOKMARK", "object": object })
}

fn line(event: &Value) -> Bytes {
    Bytes::from(format!("{event}\n"))
}
