//! A watch of one kind in one scope.
//!
//! ```text
//!   kube's watcher --list, watch, 410, back off--> Mirror --what differs--> WatchEvent
//! ```
//!
//! kube's own reflector would keep every object a second time (the publisher's `Resources` has them). What a list
//! that starts anew needs is only what was there before: names and versions.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Instant;

use backon::ExponentialBackoff;
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use sluice_translate::{Kind, ObjectKey};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::backoff::{AGAIN, LONGEST_WAIT, waits};
use super::raw::{self, Raw};
use crate::outage::{Outage, Reminder, is_unreachable, with_causes};

/// A watch is opened anew this often, which is also how soon a connection that is silently dead is found.
const WATCH_SECONDS: u32 = 60;

/// Event of a watch.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are of the large one")]
pub(super) enum WatchEvent<const METADATA_ONLY: bool> {
    /// It is there, new or changed.
    Seen(Raw<METADATA_ONLY>),
    /// It is gone.
    Gone(ObjectKey),
    /// The initial list is complete.
    Listed,
}

/// Objects of a watch.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) kind: Kind,
    /// `None`: all of them, or a kind without namespaces.
    pub(super) namespace: Option<String>,
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
}

impl Scope {
    pub(super) fn all(kind: Kind) -> Self {
        Scope {
            kind,
            namespace: None,
            labels: None,
            fields: None,
        }
    }

    fn api<const METADATA_ONLY: bool>(&self, client: Client) -> Api<Raw<METADATA_ONLY>> {
        let resource = raw::resource(self.kind);
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    fn config(&self) -> watcher::Config {
        let mut config = watcher::Config::default().timeout(WATCH_SECONDS);
        config.label_selector.clone_from(&self.labels);
        config.field_selector.clone_from(&self.fields);
        config
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace}"),
            None => Ok(()),
        }
    }
}

/// Watches until the receiver is gone, or until it is stopped; then all its objects are deleted.
pub(super) async fn watch<const METADATA_ONLY: bool>(
    client: Client,
    scope: Scope,
    outage: Outage,
    stop: CancellationToken,
    send: impl AsyncFn(WatchEvent<METADATA_ONLY>) -> bool,
) {
    let mut watch = Watch::new(&scope, outage);
    loop {
        let events = watcher::watcher(scope.api(client.clone()), scope.config());
        match stop.run_until_cancelled(watch.follow(events, &send)).await {
            Some(End::Expired) => {}
            Some(End::Unheard) => return,
            None => break,
        }
    }
    for key in watch.mirror.versions.into_keys() {
        send(WatchEvent::Gone(key)).await;
    }
    // Waiters for the first list wait no longer.
    send(WatchEvent::Listed).await;
}

/// Why nothing follows.
enum End {
    /// The receiver is gone.
    Unheard,
    /// The version that the watch would go on from is too old. Where the API server says so in a watch, kube lists
    /// anew; where it refuses to begin one, kube would ask for the same version for ever.
    Expired,
}

struct Watch<'a> {
    scope: &'a Scope,
    mirror: Mirror,
    trouble: Trouble,
    /// Since the last answer.
    has_failed: bool,
    waits: ExponentialBackoff,
}

impl<'a> Watch<'a> {
    fn new(scope: &'a Scope, outage: Outage) -> Self {
        Watch {
            scope,
            mirror: Mirror::default(),
            trouble: Trouble {
                outage,
                of_scope: Reminder::default(),
            },
            has_failed: false,
            waits: waits(),
        }
    }

    async fn follow<const METADATA_ONLY: bool>(
        &mut self,
        events: impl Stream<Item = watcher::Result<Event<Raw<METADATA_ONLY>>>>,
        send: &impl AsyncFn(WatchEvent<METADATA_ONLY>) -> bool,
    ) -> End {
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    for item in self.on_event(event) {
                        if !send(item).await {
                            return End::Unheard;
                        }
                    }
                }
                Err(error) => {
                    self.has_failed = true;
                    self.trouble.say(self.scope, &error);
                    tokio::time::sleep(self.waits.next().unwrap_or(LONGEST_WAIT)).await;
                    if is_expired(&error) {
                        return End::Expired;
                    }
                }
            }
        }
        // kube's watcher does not end; if it did, this would begin anew.
        End::Expired
    }

    fn on_event<const METADATA_ONLY: bool>(
        &mut self,
        event: Event<Raw<METADATA_ONLY>>,
    ) -> Vec<WatchEvent<METADATA_ONLY>> {
        // The start of a list says nothing about the server's health yet. (kube's own back-off takes it for a
        // success, and so never gets beyond the first wait while lists fail.)
        if !matches!(event, Event::Init) && std::mem::take(&mut self.has_failed) {
            self.trouble.end(self.scope);
            self.waits = waits();
        }
        self.mirror.take(event)
    }
}

fn is_expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410)
}

/// Objects of a scope that were reported.
#[derive(Debug, Default)]
struct Mirror {
    versions: BTreeMap<ObjectKey, String>,
    /// While a list is being read: what it held so far.
    listing: Option<BTreeSet<ObjectKey>>,
}

impl Mirror {
    fn take<const METADATA_ONLY: bool>(
        &mut self,
        event: Event<Raw<METADATA_ONLY>>,
    ) -> Vec<WatchEvent<METADATA_ONLY>> {
        match event {
            Event::Init => {
                self.listing = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                self.listing.get_or_insert_default().insert(object.key());
                self.see(object)
            }
            Event::Apply(object) => self.see(object),
            Event::Delete(object) => {
                let key = object.key();
                self.versions.remove(&key);
                vec![WatchEvent::Gone(key)]
            }
            Event::InitDone => self.end_of_list(),
        }
    }

    /// A list after a lost watch says everything again; what is as it was needs no work.
    fn see<const METADATA_ONLY: bool>(
        &mut self,
        object: Raw<METADATA_ONLY>,
    ) -> Vec<WatchEvent<METADATA_ONLY>> {
        let (key, version) = (object.key(), object.version().to_owned());
        if !version.is_empty() && self.versions.get(&key) == Some(&version) {
            return Vec::new();
        }
        self.versions.insert(key, version);
        vec![WatchEvent::Seen(object)]
    }

    fn end_of_list<const METADATA_ONLY: bool>(&mut self) -> Vec<WatchEvent<METADATA_ONLY>> {
        let listed = self.listing.take().unwrap_or_default();
        let gone = self.versions.extract_if(.., |key, _| !listed.contains(key));
        gone.map(|(key, _)| WatchEvent::Gone(key))
            .chain([WatchEvent::Listed])
            .collect()
    }
}

/// Says what is wrong, and that it no longer is, without a line for each attempt.
#[derive(Debug)]
struct Trouble {
    /// Nothing comes back: the same for all scopes.
    outage: Outage,
    /// The API server refuses this scope.
    of_scope: Reminder,
}

impl Trouble {
    fn say(&mut self, scope: &Scope, error: &watcher::Error) {
        let (now, reason) = (Instant::now(), with_causes(error));
        if is_away(error) {
            if self.outage.is_due(now) {
                warn!(
                    "the API server does not answer: {reason}; what was read before is still served"
                );
            }
        } else if self.of_scope.is_due(now) {
            warn!("watch of {scope}: {reason}; what was read before is still served");
        }
    }

    /// There is an answer.
    fn end(&mut self, scope: &Scope) {
        if self.outage.is_over() {
            info!("{AGAIN}");
        }
        if self.of_scope.is_over() {
            info!("watch of {scope}: works again");
        }
    }
}

fn is_away(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => is_unreachable(error),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, version: &str) -> Raw<false> {
        let metadata = json!({"namespace": "n", "name": name, "resourceVersion": version});
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    fn said(event: Vec<WatchEvent<false>>) -> Vec<String> {
        let text = |event: WatchEvent<false>| match event {
            WatchEvent::Seen(object) => format!("+{}", object.key()),
            WatchEvent::Gone(key) => format!("-{key}"),
            WatchEvent::Listed => "listed".to_owned(),
        };
        event.into_iter().map(text).collect()
    }

    fn list(mirror: &mut Mirror, objects: &[(&str, &str)]) -> Vec<String> {
        let mut event = mirror.take(Event::Init);
        for (name, version) in objects {
            event.extend(mirror.take(Event::InitApply(object(name, version))));
        }
        event.extend(mirror.take(Event::InitDone));
        said(event)
    }

    #[test]
    fn a_list_after_a_lost_watch_says_only_what_differs() {
        let mut mirror = Mirror::default();
        assert_eq!(
            list(&mut mirror, &[("a", "1"), ("b", "2"), ("c", "3")]),
            ["+n/a", "+n/b", "+n/c", "listed"]
        );
        assert_eq!(said(mirror.take(Event::Apply(object("a", "4")))), ["+n/a"]);
        assert_eq!(
            list(&mut mirror, &[("a", "4"), ("c", "5"), ("d", "6")]),
            ["+n/c", "+n/d", "-n/b", "listed"]
        );
    }

    #[test]
    fn a_list_that_breaks_off_takes_nothing_away() {
        let mut mirror = Mirror::default();
        list(&mut mirror, &[("a", "1"), ("b", "2")]);
        mirror.take::<false>(Event::Init);
        mirror.take(Event::InitApply(object("a", "1")));
        assert_eq!(list(&mut mirror, &[("a", "1"), ("b", "2")]), ["listed"]);
    }

    #[test]
    fn what_is_deleted_and_made_again_is_seen_again() {
        let mut mirror = Mirror::default();
        list(&mut mirror, &[("a", "1")]);
        assert_eq!(said(mirror.take(Event::Delete(object("a", "2")))), ["-n/a"]);
        assert_eq!(said(mirror.take(Event::Apply(object("a", "3")))), ["+n/a"]);
    }
}
