//! ingress-nginx's Event for each configuration that nginx has loaded, on the pod that the nginx runs in.

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, ListParams};
use kube::{Api, Client};

use super::message::Message;
use super::put::{event_name, put};
use crate::identity::Identity;
use crate::watch::Head;

const REASON: &str = "RELOAD";
const TEXT: &str = "NGINX reload triggered due to a change in configuration";

/// Writes the Event, or counts it again if it exists.
pub(super) async fn send(client: &Client, identity: &Identity) -> kube::Result<()> {
    // Without the right to see pods the Event says the name alone.
    let uid = uid(client, identity).await.ok().flatten();
    let event = message(identity, uid).event(identity, Timestamp::now());
    put(client, &event).await
}

/// `kubectl describe` asks by UID.
async fn uid(client: &Client, identity: &Identity) -> kube::Result<Option<String>> {
    let pods: Api<Head> = Api::namespaced_with(
        client.clone(),
        &identity.namespace,
        &ApiResource::erase::<Pod>(&()),
    );
    let named = ListParams::default().fields(&format!("metadata.name={}", identity.pod));
    let pod = pods.list(&named).await?.items.pop();
    Ok(pod.and_then(|pod| Some(pod.value().pointer("/metadata/uid")?.as_str()?.to_owned())))
}

fn message(identity: &Identity, uid: Option<String>) -> Message {
    let Identity { pod, namespace } = identity;
    Message {
        name: event_name(pod, &[uid.as_deref().unwrap_or_default(), REASON]),
        namespace: namespace.clone(),
        object: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: Some(namespace.clone()),
            name: Some(pod.clone()),
            uid,
            ..ObjectReference::default()
        },
        kind: "Normal",
        reason: REASON,
        text: TEXT.to_owned(),
    }
}
