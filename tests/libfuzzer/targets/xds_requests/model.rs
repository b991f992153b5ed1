//! The client, as it should be by what was said to it.

use std::collections::{BTreeMap, BTreeSet};

use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};

/// Subscription, state and refusals of a client, of one type.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) all: bool,
    pub(crate) names: BTreeSet<String>,
    pub(crate) has: BTreeMap<String, String>,
    pub(crate) refused: BTreeMap<String, String>,
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
    pub(crate) fn answered(&mut self, response: DeltaDiscoveryResponse, accepted: bool) {
        if accepted {
            let names = response
                .resources
                .iter()
                .map(|it| &it.name)
                .chain(&response.removed_resources);
            names.for_each(|name| drop(self.refused.remove(name)));
        }
        let one = response.resources.len() + response.removed_resources.len() == 1;
        for resource in response.resources {
            if accepted && self.wants(&resource.name) {
                self.has.insert(resource.name, resource.version);
            } else if !accepted && one {
                self.refused.insert(resource.name, resource.version);
            }
        }
        for name in response.removed_resources {
            if accepted {
                self.has.remove(&name);
            } else if one {
                // It says that it keeps what is gone.
                self.refused.insert(name, String::new());
            }
        }
    }
}
