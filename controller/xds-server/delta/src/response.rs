//! Responses: how much one holds, and what of a subscription.

use std::sync::Arc;

use bytes::Bytes;
use sluice_xds_resource::{Name, ResourceType};

use crate::acknowledgement::Sent;
use crate::cache::Stored;
use crate::message::Message;

/// A response is closed when it holds this much; see [`room`].
const RESPONSE_BYTES: usize = 1024 * 1024;

/// A response: what of `DeltaDiscoveryResponse` we send. Its messages are those of the cache, shared by all clients.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Type of all its resources.
    pub type_url: String,
    /// Names it in the answer.
    pub nonce: String,
    /// Resources that are set, and those that are removed.
    pub sent: Sent,
    /// The message of each name with a version, in their order.
    pub(crate) messages: Vec<Arc<Message>>,
    /// Comes behind each resource, as a part of it.
    pub(crate) mark: Bytes,
}

impl Response {
    /// Names of the resources that are set.
    pub fn set_names(&self) -> impl Iterator<Item = &Name> {
        let set = self.sent.iter().filter(|(_, version)| version.is_some());
        set.map(|(name, _)| name)
    }
}

/// Selection of the pending changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeSet {
    Sets,
    Removals,
    Both,
}

/// Change that a client needs for one name.
pub(crate) enum Need<'a> {
    Set(&'a Stored),
    Remove,
    Nothing,
}

/// Scopes go together: Envoy opens a listener as soon as it has some of them, and takes the hosts of those that it does not
/// have yet for nobody's.
pub(crate) fn room(kind: ResourceType) -> usize {
    if kind == ResourceType::Scope {
        usize::MAX
    } else {
        RESPONSE_BYTES
    }
}

pub(crate) fn fits(need: &Need<'_>, part: ChangeSet) -> bool {
    match need {
        Need::Nothing => false,
        Need::Set(_) => part != ChangeSet::Removals,
        Need::Remove => part != ChangeSet::Sets,
    }
}
