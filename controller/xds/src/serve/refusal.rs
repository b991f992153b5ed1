//! Resources that a client refused.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::version::Version;
use crate::{Name, ResourceType};

/// Longest text of a client that is kept.
const LONGEST: usize = 2048;

/// One resource that a client refused, and has not accepted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is.
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
pub(super) struct Refusals(BTreeMap<(ResourceType, Name), Refusal>);

impl Refusals {
    pub(super) fn add(
        &mut self,
        (kind, name): (ResourceType, &Name),
        version: Version,
        node: &str,
        message: &str,
    ) {
        let refusal = Refusal {
            kind,
            name: name.clone(),
            version: version.to_string(),
            node: node.to_owned(),
            message: shortened(message).to_owned(),
        };
        self.0.insert((kind, name.clone()), refusal);
    }

    /// Forgets versions that are not served any more.
    pub(super) fn keep_current(&mut self, contents: &Contents) {
        self.0.retain(|(kind, name), refusal| {
            contents.find(*kind, name).is_some_and(|stored| stored.version.to_string() == refusal.version)
        });
    }

    /// It was accepted.
    pub(super) fn forget(&mut self, kind: ResourceType, name: &Name) {
        if !self.0.is_empty() {
            self.0.remove(&(kind, name.clone()));
        }
    }

    pub(super) fn all(&self) -> Vec<Refusal> {
        self.0.values().cloned().collect()
    }
}

/// The beginning of a client's text.
pub(super) fn shortened(text: &str) -> &str {
    let end = text.floor_char_boundary(LONGEST);
    text.get(..end).unwrap_or_default()
}
