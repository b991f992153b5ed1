//! Resources of one response.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::service::discovery::v3::{DeltaDiscoveryResponse, Resource};
use envoy_types::pb::google::protobuf::Any;

use super::{Need, Part, RESPONSE_BYTES, Sent, Subscription};
use crate::serve::contents::{Contents, Stored};
use crate::{Name, ResourceType};

impl Subscription {
    /// Adds what is needed of these names, and returns those for a later response.
    pub(super) fn fill(
        &mut self,
        response: &mut DeltaDiscoveryResponse,
        sent: &mut Sent,
        names: BTreeSet<Name>,
        part: Part,
        contents: &Contents,
    ) -> BTreeSet<Name> {
        let mut left = BTreeSet::new();
        let mut room = room(self.kind);
        for name in names {
            let need = self.need(&name, contents);
            match &need {
                Need::Nothing => drop(self.forced.remove(&name)),
                _ if room == 0 || !fits(&need, part) => drop(left.insert(name)),
                Need::Set(stored) => {
                    room = room.saturating_sub(stored.bytes.len() + name.len());
                    response.resources.push(resource(self.kind, &name, stored));
                    self.forced.remove(&name);
                    sent.push((name, Some(stored.version)));
                }
                Need::Remove => {
                    room = room.saturating_sub(name.len());
                    response.removed_resources.push(name.to_string());
                    self.forced.remove(&name);
                    sent.push((name, None));
                }
            }
        }
        left
    }

    pub(super) fn need<'a>(&self, name: &Name, contents: &'a Contents) -> Need<'a> {
        let (known, forced) = (self.known.get(name), self.forced.contains(name));
        let stored = contents.find(self.kind, name).filter(|_| self.wants(name));
        let version = stored.map(|stored| stored.version);
        if self.refused.get(name) == Some(&version) {
            return Need::Nothing;
        }
        match stored {
            Some(stored) if forced || known != Some(&version) => Need::Set(stored),
            None if forced || known.is_some() => Need::Remove,
            _ => Need::Nothing,
        }
    }
}

/// Scopes go together: Envoy opens a listener as soon as it has some of them, and takes the hosts of those that it does not
/// have yet for nobody's.
pub(super) fn room(kind: ResourceType) -> usize {
    if kind == ResourceType::Scope {
        usize::MAX
    } else {
        RESPONSE_BYTES
    }
}

pub(super) fn fits(need: &Need<'_>, part: Part) -> bool {
    match need {
        Need::Nothing => false,
        Need::Set(_) => part != Part::Removals,
        Need::Remove => part != Part::Sets,
    }
}

fn resource(kind: ResourceType, name: &Name, stored: &Stored) -> Resource {
    Resource {
        name: name.to_string(),
        version: stored.version.to_string(),
        resource: Some(Any {
            type_url: kind.type_url(),
            value: stored.bytes.clone(),
        }),
        ..Resource::default()
    }
}
