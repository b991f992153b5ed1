//! Reports as Events on the objects that they are about, where their owners look (`kubectl describe`), and two of ingress-nginx's
//! own: an Ingress was seen, nginx was reloaded.
//!
//! An Event has a name that is made of what it says, so the same report is one Event however often it comes up and
//! whoever leads, and it is counted instead of repeated. Events expire after an hour; what still holds is said again
//! before that. (kube's Recorder takes two different messages with the same reason for one.)
//!
//! ```text
//!   reports, Ingresses --> pending.rs, a few of each object --> due_queue.rs, in turns of namespaces --at a pace--> put.rs
//! ```

mod due_queue;
mod message;
mod pending;
mod put;
mod reload_event;
mod sync_event;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, ObjectReference};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, ListParams};
use kube::{Api, Client};
use sluice_ir::ReasonCode;
use sluice_translate::{ObjectKey, Report, Severity};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tracing::{debug, warn};

use crate::Notification;
use crate::identity::Identity;
use crate::watch::{Head, resource};
use message::Message;
use pending::{Item, Pending};
use put::{event_name, put};
use sync_event::Synced;

/// Between two Events, once the burst is used up.
const PACE: Duration = Duration::from_millis(200);
/// Events that may go out at once after a quiet time.
const BURST: u32 = 50;
/// Interval after which an Event is repeated; the API server forgets after an hour.
const REPEAT: Duration = Duration::from_secs(50 * 60);
/// An Event that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(15);
/// The API server takes no longer messages.
const LONGEST_MESSAGE: usize = 1024;

/// Writes Events.
pub(crate) struct Recorder {
    client: Client,
    identity: Identity,
    leads: watch::Receiver<bool>,
    /// Reports that hold and Ingresses that have changed, and when each is due.
    pending: Pending,
    /// Without `--disable-sync-events`.
    sync_events: bool,
    synced: Synced,
    allowance: Allowance,
    said_forbidden: bool,
}

impl Recorder {
    pub(crate) fn new(
        client: Client,
        identity: Identity,
        leads: watch::Receiver<bool>,
        sync_events: bool,
    ) -> Self {
        let allowance = Allowance {
            left: BURST,
            since: Instant::now(),
        };
        Recorder {
            client,
            identity,
            leads,
            pending: Pending::default(),
            sync_events,
            synced: Synced::default(),
            allowance,
            said_forbidden: false,
        }
    }

    /// Runs until all senders are dropped.
    pub(crate) async fn run(
        mut self,
        mut notifications: mpsc::UnboundedReceiver<Vec<Notification>>,
    ) {
        loop {
            let next = self.next();
            tokio::select! {
                heard = notifications.recv() => {
                    let Some(heard) = heard else { return };
                    if heard.contains(&Notification::NginxReloaded) {
                        self.send_reload_event().await;
                    }
                    self.take(heard);
                }
                changed = self.leads.changed() => match changed {
                    Ok(()) => self.forget_old(Instant::now()),
                    Err(_) => return,
                },
                () = sleep_until(next.as_ref().map(|(at, _)| *at)) => {
                    if let Some((_, item)) = next {
                        self.write_next(item).await;
                    }
                }
            }
        }
    }

    fn take(&mut self, notifications: Vec<Notification>) {
        let now = Instant::now();
        for item in notifications {
            match item {
                // Notes are about what is served as it should be, and about Ingresses of other controllers.
                Notification::ReportAdded(report) if report.severity == Severity::Note => {}
                Notification::NginxReloaded => {}
                Notification::ReportAdded(report) => self.pending.add(report, now),
                Notification::ReportRemoved(report) => self.pending.remove(report, now),
                Notification::IngressSynced { .. } if !self.sync_events => {}
                Notification::IngressSynced { key, uid } => {
                    if !*self.leads.borrow() {
                        self.forget_old(now);
                    }
                    self.pending.add_sync(&key, now);
                    self.synced.add(key, uid, now);
                }
            }
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some(key) = self.synced.forget_old(now) {
            self.pending.remove_sync(&key);
        }
    }

    /// Next Event and its time. Only the leader writes; a new leader knows the reports.
    fn next(&mut self) -> Option<(Instant, Item)> {
        if !*self.leads.borrow() {
            return None;
        }
        let earliest = self.allowance.at();
        let (due, item) = self.pending.next(earliest.max(Instant::now()))?;
        Some((due.max(earliest), item))
    }

    async fn write_next(&mut self, item: Item) {
        self.allowance.take(Instant::now());
        let wait = match &item {
            Item::Report(report) => Some(self.say(report).await),
            Item::More(object) => match self.pending.more(object) {
                Some(report) => Some(self.say(&report).await),
                None => None,
            },
            Item::Sync(key) => {
                self.send_sync_event(key).await;
                None
            }
        };
        let again = wait.map(|wait| Instant::now() + wait);
        self.pending.had_turn(&item, again);
    }

    /// A failed write is not repeated: the next change says the same.
    async fn send_sync_event(&mut self, key: &ObjectKey) {
        let Some(uid) = self.synced.remove(key) else {
            return;
        };
        let sent = sync_event::send(&self.client, &self.identity, key, &uid);
        if let Ok(Err(error)) = timeout(TIMEOUT, sent).await {
            debug!("Event for {key}: {error}");
        }
    }

    /// Writes a report, and returns after how long it is to be said again.
    async fn say(&mut self, report: &Report) -> Duration {
        match timeout(TIMEOUT, self.write(report)).await {
            Ok(Ok(())) => REPEAT,
            // Rights may end at a namespace, and may be given later.
            Ok(Err(kube::Error::Api(status))) if status.is_forbidden() => {
                if !std::mem::replace(&mut self.said_forbidden, true) {
                    warn!(
                        "Event for {}: {status}; such reports are only in this log",
                        report.object
                    );
                }
                REPEAT
            }
            Ok(Err(error)) => {
                warn!("Event for {}: {error}", report.object);
                AGAIN
            }
            Err(_) => AGAIN,
        }
    }

    async fn write(&self, report: &Report) -> kube::Result<()> {
        let Some(uid) = self.uid(report).await? else {
            return Ok(());
        };
        put(
            &self.client,
            &event(report, &uid, &self.identity, Timestamp::now()),
        )
        .await
    }

    /// Written by every replica, also without the Lease: each has an nginx of its own. A failed write is not repeated.
    async fn send_reload_event(&self) {
        let told = timeout(TIMEOUT, reload_event::send(&self.client, &self.identity)).await;
        if let Ok(Err(error)) = told {
            debug!(
                "Event for {}/{}: {error}",
                self.identity.namespace, self.identity.pod
            );
        }
    }

    /// `kubectl describe` asks by UID; an object without one is gone, and so is its Event. A list of one, because what is
    /// watched may be listed, and need not be readable one by one.
    async fn uid(&self, report: &Report) -> kube::Result<Option<String>> {
        let kind: ApiResource = resource(report.object.kind);
        let key = &report.object.key;
        let api: Api<Head> = match &*key.namespace {
            "" => Api::all_with(self.client.clone(), &kind),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &kind),
        };
        let named = ListParams::default().fields(&format!("metadata.name={}", key.name));
        let head = api.list(&named).await?.items.pop();
        Ok(head.and_then(|head| Some(head.value().pointer("/metadata/uid")?.as_str()?.to_owned())))
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn event(report: &Report, uid: &str, identity: &Identity, now: Timestamp) -> Event {
    let key = &report.object.key;
    // Objects without a namespace have their Events in `default`.
    let namespace = if key.namespace.is_empty() {
        "default"
    } else {
        &key.namespace
    };
    let object = ObjectReference {
        api_version: Some(report.object.kind.api_version().to_owned()),
        kind: Some(report.object.kind.as_str().to_owned()),
        namespace: Some(key.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        name: Some(key.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    };
    let name = event_name(
        &key.name,
        &[uid, &report.to_string(), &report.severity.to_string()],
    );
    let message = Message {
        name,
        namespace: namespace.to_owned(),
        object,
        kind: "Warning",
        reason: reason(report),
        text: text(report),
    };
    message.event(identity, now)
}

/// The code of the report, except where ingress-nginx has a reason that people have alerts on.
fn reason(report: &Report) -> &'static str {
    match report.code {
        ReasonCode::InvalidValue if report.field.starts_with("annotation ") => {
            "AnnotationParsingFailed"
        }
        code => code.as_str(),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!(
        "{}: {}; {}",
        report.field, report.reason, report.consequence
    );
    let end = text.floor_char_boundary(LONGEST_MESSAGE);
    text.truncate(end);
    text
}

/// A bucket that fills with time.
#[derive(Debug)]
struct Allowance {
    left: u32,
    since: Instant,
}

impl Allowance {
    /// When the next one may go.
    fn at(&self) -> Instant {
        if self.left > 0 {
            self.since
        } else {
            self.since + PACE
        }
    }

    fn take(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.since).as_millis() / PACE.as_millis();
        let refilled = self
            .left
            .saturating_add(u32::try_from(elapsed).unwrap_or(u32::MAX))
            .min(BURST);
        if elapsed > 0 {
            self.since = now;
        }
        self.left = refilled.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
