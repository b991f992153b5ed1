//! Stand-ins for the crate `sluice_xds`: as much of it as the state machine of the server reads.

use std::collections::{BTreeMap, BTreeSet};

#[path = "../../../../controller/xds/src/resource.rs"]
mod resource;

pub use resource::{Name, ResourceType};

/// As in `controller/xds/src/render/probe.rs`.
pub const PROBE: &str = "sluice_probe";
/// As in `controller/xds/src/render/probe.rs`.
pub const TLS_PROBE: &str = "sluice_probe_tls";

/// As in `controller/xds/src/probe.rs`.
pub fn is_probe(name: &str) -> bool {
    name == PROBE || name == TLS_PROBE
}

pub mod render {
    pub const HTTP: &str = "http";
}

/// As in `controller/xds/src/update.rs`.
#[derive(Default)]
pub struct Update {
    pub changes: BTreeMap<(ResourceType, Name), Change>,
    pub complete: BTreeSet<ResourceType>,
}

#[allow(dead_code, reason = "a removal that is taken back")]
pub enum Change {
    Set(Vec<u8>),
    Remove,
    Keep,
}
