//! Events by names that are made of what they say: written once, then counted.

use k8s_openapi::api::core::v1::Event;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::identity::MANAGER;

/// Writes an Event, or counts it when it is there.
pub(super) async fn put(client: &Client, event: &Event) -> kube::Result<()> {
    let name = event.metadata.name.clone().unwrap_or_default();
    let namespace = event.metadata.namespace.clone().unwrap_or_default();
    let events: Api<Event> = Api::namespaced(client.clone(), &namespace);
    match events.create(&PostParams::default(), event).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        other => return other.map(drop),
    }
    // The answer to a patch says what was counted so far, without the right to read Events.
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let again = Patch::Merge(json!({ "lastTimestamp": event.last_timestamp }));
    let known = events.patch(&name, &parameters, &again).await?;
    let count = Patch::Merge(json!({ "count": known.count.unwrap_or(1).saturating_add(1) }));
    events.patch(&name, &parameters, &count).await.map(drop)
}

/// A valid name for an Event of this object, the same for the same parts.
pub(super) fn event_name(object: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let digest: String = hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // 253 characters, 17 of them ours.
    let end = object.floor_char_boundary(236);
    format!("{}.{digest}", object.get(..end).unwrap_or_default())
}
