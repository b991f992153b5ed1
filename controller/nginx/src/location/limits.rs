//! How much one client may ask for. As in ingress-nginx the paths of one Ingress are counted together.

use sluice_ir::{Cidr, ClientLimits, Rate};

use crate::files::names::hash;

/// The limits of one Ingress, as `http {}` needs them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Zone {
    /// No text of others is in it.
    pub(crate) name: String,
    pub(crate) exempt: Vec<Cidr>,
    /// With its unit: `r/s`.
    pub(crate) rates: Vec<(&'static str, u32)>,
    /// Zone that counts concurrent requests.
    pub(crate) connections: Option<String>,
}

/// A limit in a location.
pub(crate) struct Limit {
    pub(crate) zone: String,
    pub(crate) burst: u32,
}

/// A limit of what is in process.
pub(crate) struct ConnectionLimit {
    pub(crate) zone: String,
    pub(crate) most: u32,
    pub(crate) status: u16,
}

/// The limits of a location.
pub(crate) fn limits(limits: &ClientLimits) -> Vec<Limit> {
    let name = name(limits);
    rates(limits)
        .map(|(unit, rate)| Limit {
            zone: full_name(&name, unit),
            burst: rate.burst,
        })
        .collect()
}

/// Its limit of what is in process.
pub(crate) fn connections(limits: &ClientLimits) -> Option<ConnectionLimit> {
    /// nginx counts up to it and refuses a larger limit; no nginx of ours has as many connections.
    const MOST: u32 = 65_535;
    let sluice_ir::ConnectionLimit { max: most, status } = limits.connections?;
    Some(ConnectionLimit {
        zone: format!("sluice_{}_conn", name(limits)),
        most: most.get().min(MOST),
        status,
    })
}

/// nginx keeps a zone that has the same name and the same key after a reload, and refuses one that has another key: who is
/// exempt is a part of the name.
fn name(limits: &ClientLimits) -> String {
    hash(&format!("{} {:?}", limits.zone, limits.exempt))
}

/// The limits that are counted together with those of a location.
pub(crate) fn zone(limits: &ClientLimits) -> Zone {
    let rates = rates(limits)
        .map(|(unit, rate)| (unit, rate.requests.get()))
        .collect();
    let connections = connections(limits).map(|limit| limit.zone);
    Zone {
        name: name(limits),
        exempt: limits.exempt.clone(),
        rates,
        connections,
    }
}

impl Zone {
    pub(crate) fn full_name(&self, unit: &str) -> String {
        full_name(&self.name, unit)
    }
}

fn full_name(name: &str, unit: &str) -> String {
    format!(
        "sluice_{name}_{}",
        if unit == "r/s" { "rps" } else { "rpm" }
    )
}

fn rates(limits: &ClientLimits) -> impl Iterator<Item = (&'static str, Rate)> {
    let second = limits.per_second.map(|rate| ("r/s", rate));
    second
        .into_iter()
        .chain(limits.per_minute.map(|rate| ("r/m", rate)))
}
