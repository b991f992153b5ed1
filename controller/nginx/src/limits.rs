//! How much one client may ask for. As in ingress-nginx the paths of one Ingress are counted together.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{Cidr, Config, Limits, Policy, Rate};

use crate::files::hash;

/// The limits of one Ingress, as `http {}` needs them.
pub(crate) struct Zone {
    /// No text of others is in it.
    pub(crate) name: String,
    pub(crate) exempt: Vec<Cidr>,
    /// With its unit: `r/s`.
    pub(crate) rates: Vec<(&'static str, u32)>,
}

/// A limit in a location.
pub(crate) struct Limit {
    pub(crate) zone: String,
    pub(crate) burst: u32,
}

/// Which policies are counted under which name.
#[derive(Default)]
pub(crate) struct Zones {
    /// By identity, because two Ingresses that say the same are counted by themselves.
    names: BTreeMap<*const Policy, String>,
}

impl Zones {
    /// In the order of the locations.
    pub(crate) fn of(config: &Config) -> (Self, Vec<Zone>) {
        let (mut zones, mut all) = (Zones::default(), Vec::new());
        for location in config.servers.values().flat_map(|server| &server.locations) {
            let Some(limits) = &location.policy.limits else { continue };
            zones.names.entry(Arc::as_ptr(&location.policy)).or_insert_with(|| {
                // nginx keeps a zone that has the same name and the same key after a reload, and refuses one that has
                // another key: who is exempt is a part of the name.
                let name = hash(&format!("{} {:?}", location.id.as_str(), limits.exempt));
                all.push(zone(name.clone(), limits));
                name
            });
        }
        (zones, all)
    }

    /// The limits of a location.
    pub(crate) fn limits(&self, policy: &Arc<Policy>) -> Vec<Limit> {
        let name = self.names.get(&Arc::as_ptr(policy));
        let Some((limits, name)) = policy.limits.as_ref().zip(name) else { return Vec::new() };
        let limit = |(unit, rate): (&str, Rate)| Limit { zone: full_name(name, unit), burst: rate.burst };
        rates(limits).map(limit).collect()
    }
}

fn zone(name: String, limits: &Limits) -> Zone {
    let rates = rates(limits).map(|(unit, rate)| (unit, rate.requests.get())).collect();
    Zone { name, exempt: limits.exempt.clone(), rates }
}

impl Zone {
    pub(crate) fn full_name(&self, unit: &str) -> String {
        full_name(&self.name, unit)
    }
}

fn full_name(name: &str, unit: &str) -> String {
    format!("sluice_{name}_{}", if unit == "r/s" { "rps" } else { "rpm" })
}

fn rates(limits: &Limits) -> impl Iterator<Item = (&'static str, Rate)> {
    let second = limits.per_second.map(|rate| ("r/s", rate));
    second.into_iter().chain(limits.per_minute.map(|rate| ("r/m", rate)))
}
