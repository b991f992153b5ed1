//! Responses: how much one holds, and what of a subscription.

use envoy_types::pb::envoy::service::discovery::v3::Resource;
use envoy_types::pb::google::protobuf::Any;
use sluice_xds::{FilterForm, Name, ResourceType};

use crate::cache::Stored;

/// A response is closed when it holds this much; see [`room`].
const RESPONSE_BYTES: usize = 1024 * 1024;

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

pub(crate) fn resource(
    kind: ResourceType,
    name: &Name,
    stored: &Stored,
    form: FilterForm,
) -> Resource {
    Resource {
        name: name.to_string(),
        version: stored.version.to_string(),
        resource: Some(Any {
            type_url: kind.type_url(),
            value: stored.bytes(form).to_vec(),
        }),
        ..Resource::default()
    }
}
