//! ingress-nginx's Event for each Ingress that was created or changed: the controller has seen it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use sluice_translate::{Kind, ObjectKey};
use tokio::time::Instant;

use super::message::Message;
use super::put::{event_name, put};
use crate::identity::Identity;

const REASON: &str = "Sync";
const TEXT: &str = "Scheduled for sync";

/// No replica leads for longer at a start, or when a leader has died.
const FRESH: Duration = Duration::from_secs(30);

/// Ingresses that were created or changed, and are to be told of. Where another replica leads, they are forgotten after a while:
/// that one has told.
#[derive(Debug, Default)]
pub(super) struct Synced {
    uids: BTreeMap<ObjectKey, (Instant, String)>,
    by_age: BTreeSet<(Instant, ObjectKey)>,
}

impl Synced {
    pub(super) fn add(&mut self, key: ObjectKey, uid: String, now: Instant) {
        let known = self.uids.get(&key);
        let since = known.map_or(now, |(since, _)| *since);
        self.by_age.insert((since, key.clone()));
        self.uids.insert(key, (since, uid));
    }

    /// Its UID; it is told of now.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<String> {
        let (since, uid) = self.uids.remove(key)?;
        self.by_age.remove(&(since, key.clone()));
        Some(uid)
    }

    /// Forgets one that another leader has told of.
    pub(super) fn forget_old(&mut self, now: Instant) -> Option<ObjectKey> {
        let (since, key) = self.by_age.first()?;
        let is_old = now.saturating_duration_since(*since) >= FRESH;
        let key = is_old.then(|| key.clone())?;
        self.remove(&key)?;
        Some(key)
    }
}

/// Writes the Event, or counts it again if it exists.
pub(super) async fn send(
    client: &Client,
    identity: &Identity,
    key: &ObjectKey,
    uid: &str,
) -> kube::Result<()> {
    let event = message(key, uid).event(identity, Timestamp::now());
    put(client, &event).await
}

fn message(key: &ObjectKey, uid: &str) -> Message {
    Message {
        name: event_name(&key.name, &[uid, REASON]),
        namespace: key.namespace.to_string(),
        object: ObjectReference {
            api_version: Some(Kind::Ingress.api_version().to_owned()),
            kind: Some(Kind::Ingress.as_str().to_owned()),
            namespace: Some(key.namespace.to_string()),
            name: Some(key.name.to_string()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        },
        kind: "Normal",
        reason: REASON,
        text: TEXT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_leader_has_told_is_forgotten_whatever_came_meanwhile() {
        let start = Instant::now();
        let keys = ["b", "a", "c"].map(|name| ObjectKey::new("n", name));
        let mut synced = Synced::default();
        for (second, key) in (0..).zip(&keys) {
            for version in ["1", "2"] {
                let now = start + Duration::from_secs(second);
                synced.add(key.clone(), version.to_owned(), now);
            }
        }
        assert_eq!(synced.forget_old(start + FRESH / 2), None);
        let later = start + FRESH + Duration::from_secs(1);
        let forgotten: Vec<_> = std::iter::from_fn(|| synced.forget_old(later)).collect();
        assert_eq!(forgotten, keys[..2]);
        assert_eq!(synced.remove(&keys[0]), None);
        assert_eq!(synced.remove(&keys[2]).as_deref(), Some("2"));
        assert_eq!(synced.forget_old(later + FRESH), None);
    }
}
