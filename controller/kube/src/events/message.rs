//! Text of an Event, and the object that it is about.

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;

use crate::identity::{Identity, MANAGER};

/// An Event before it is written.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) name: String,
    /// Namespace of the Event itself.
    pub(super) namespace: String,
    /// The object that it is about.
    pub(super) object: ObjectReference,
    /// `Normal` or `Warning`.
    pub(super) kind: &'static str,
    pub(super) reason: &'static str,
    pub(super) text: String,
}

impl Message {
    /// The Event, for the first time.
    pub(super) fn event(self, identity: &Identity, now: Timestamp) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(self.name),
                namespace: Some(self.namespace),
                ..ObjectMeta::default()
            },
            involved_object: self.object,
            type_: Some(self.kind.to_owned()),
            reason: Some(self.reason.to_owned()),
            message: Some(self.text),
            source: Some(EventSource {
                component: Some(MANAGER.to_owned()),
                host: None,
            }),
            reporting_component: Some(MANAGER.to_owned()),
            reporting_instance: Some(identity.pod.clone()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            ..Event::default()
        }
    }
}
