//! ingress-nginx's Event for each Ingress that was created or changed: the controller has seen it.

use std::collections::BTreeMap;
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
pub(super) struct Synced(BTreeMap<ObjectKey, Ingress>);

#[derive(Debug)]
struct Ingress {
    uid: String,
    since: Instant,
}

impl Synced {
    pub(super) fn add(&mut self, key: ObjectKey, uid: String, leads: bool) {
        if !leads {
            self.forget_old();
        }
        // One that changes again keeps its place.
        let since = self
            .0
            .get(&key)
            .map_or_else(Instant::now, |known| known.since);
        self.0.insert(key, Ingress { uid, since });
    }

    /// Name of the one that waits longest.
    pub(super) fn first(&self) -> Option<&ObjectKey> {
        let longest = self.0.iter().min_by_key(|(_, ingress)| ingress.since);
        longest.map(|(key, _)| key)
    }

    /// Its UID; it is told of now.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<String> {
        self.0.remove(key).map(|ingress| ingress.uid)
    }

    /// Forgets what another leader has told.
    pub(super) fn forget_old(&mut self) {
        self.0.retain(|_, ingress| ingress.since.elapsed() < FRESH);
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
    fn an_ingress_that_changes_again_keeps_its_place() {
        let [a, b] = ["a", "b"].map(|name| ObjectKey::new("n", name));
        let mut synced = Synced::default();
        synced.add(b.clone(), "1".to_owned(), true);
        for version in ["2", "3"] {
            synced.add(a.clone(), version.to_owned(), true);
        }
        let next = |synced: &mut Synced| {
            let key = synced.first()?.clone();
            Some((key.clone(), synced.remove(&key)?))
        };
        assert_eq!(next(&mut synced), Some((b, "1".to_owned())));
        assert_eq!(next(&mut synced), Some((a, "3".to_owned())));
        assert_eq!(next(&mut synced), None);
    }
}
