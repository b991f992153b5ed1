//! Resources that a client refused.

use std::collections::BTreeMap;

use sluice_xds::is_probe;
use sluice_xds::{Name, ResourceType};
use sluice_xds_delta::{Cache, Version, shortened};

/// One resource that a client refused, and has not accepted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// Its type.
    pub kind: ResourceType,
    /// Its name.
    pub name: Name,
    /// The version that was refused.
    pub version: String,
    /// The id of the node that refused it; the last one, when several did.
    pub node: String,
    /// The client's reason.
    pub message: String,
}

/// The refusals that hold; never more than there are resources.
#[derive(Debug, Default)]
pub(crate) struct Nacks(BTreeMap<(ResourceType, Name), Nack>);

impl Nacks {
    /// True if nobody has said that so far.
    pub(crate) fn add(
        &mut self,
        (kind, name): (ResourceType, &Name),
        version: Version,
        node: &str,
        message: &str,
    ) -> bool {
        let refusal = Nack {
            kind,
            name: name.clone(),
            version: version.to_string(),
            node: node.to_owned(),
            message: shortened(message).to_owned(),
        };
        let said = (refusal.version.clone(), refusal.message.clone());
        let before = self.0.insert((kind, name.clone()), refusal);
        before.is_none_or(|before| (before.version, before.message) != said)
    }

    /// Forgets versions that are not served any more; whether there were some.
    pub(crate) fn keep_current(&mut self, cache: &Cache) -> bool {
        let before = self.0.len();
        self.0.retain(|(kind, name), refusal| {
            cache
                .find(*kind, name)
                .is_some_and(|stored| stored.version.to_string() == refusal.version)
        });
        self.0.len() != before
    }

    /// It was accepted; whether it was refused before.
    pub(crate) fn forget(&mut self, kind: ResourceType, name: &Name) -> bool {
        !self.0.is_empty() && self.0.remove(&(kind, name.clone())).is_some()
    }

    /// Reason of a refusal.
    pub(crate) fn message(&self, kind: ResourceType, name: &str) -> Option<&str> {
        let refusal = self.0.get(&(kind, name.into()))?;
        Some(&refusal.message)
    }

    /// NACKs of published resources, without those of probes.
    pub(crate) fn published(&self) -> Vec<Nack> {
        self.0
            .values()
            .filter(|refusal| !is_probe(&refusal.name))
            .cloned()
            .collect()
    }
}
