//! The client, as it should be by what was said to it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};

/// Until what was refused is sent again, if it ever is.
pub(crate) const RETRY: Duration = Duration::from_secs(5);

/// Meaning of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted,
    Refused,
    /// Alone, and not for the first time.
    RefusedAgain,
}

/// A resource that was refused alone.
pub(crate) struct Refused {
    /// Empty: its removal was.
    pub(crate) version: String,
    pub(crate) at: Instant,
}

/// Subscription, state and refusals of a client, of one type.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) all: bool,
    pub(crate) names: BTreeSet<String>,
    pub(crate) has: BTreeMap<String, String>,
    pub(crate) refused: BTreeMap<String, Refused>,
    pub(crate) waiting: Option<DeltaDiscoveryResponse>,
}

impl Model {
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }

    pub(crate) fn take(&mut self, request: &DeltaDiscoveryRequest) {
        for name in &request.resource_names_subscribe {
            match name.as_str() {
                "*" => self.all = true,
                name => drop(self.names.insert(name.to_owned())),
            }
        }
        for name in &request.resource_names_unsubscribe {
            match name.as_str() {
                "*" => self.all = false,
                name => drop(self.names.remove(name)),
            }
        }
        let (all, names) = (self.all, &self.names);
        self.has.retain(|name, _| all || names.contains(name));
        self.refused.retain(|name, _| all || names.contains(name));
    }

    /// It does as it has said.
    pub(crate) fn answered(
        &mut self,
        response: DeltaDiscoveryResponse,
        accepted: bool,
        now: Instant,
    ) -> Answer {
        let set = response.resources.into_iter();
        let set = set.map(|resource| (resource.name, resource.version));
        let removed = response.removed_resources.into_iter();
        let sent: Vec<(String, String)> = set
            .chain(removed.map(|name| (name, String::new())))
            .collect();
        if accepted {
            for (name, version) in sent {
                self.refused.remove(&name);
                match version.is_empty() {
                    true => drop(self.has.remove(&name)),
                    false if self.wants(&name) => drop(self.has.insert(name, version)),
                    false => {}
                }
            }
            return Answer::Accepted;
        }
        let Ok([(name, version)]) = <[_; 1]>::try_from(sent) else {
            return Answer::Refused;
        };
        let refused = Refused { version, at: now };
        let again = refused.version.clone();
        match self.refused.insert(name, refused) {
            Some(before) if before.version == again => Answer::RefusedAgain,
            _ => Answer::Refused,
        }
    }
}
