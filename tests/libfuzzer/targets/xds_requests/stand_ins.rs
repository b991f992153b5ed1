//! Stand-ins for the crate `sluice_xds`: as much of it as the state machine of the server reads.

use std::collections::{BTreeMap, BTreeSet};

#[path = "../../../../controller/xds/src/resource.rs"]
mod resource;

pub use resource::{Name, ResourceType};

/// As in `controller/xds/src/render/probe.rs`.
pub const PROBE: &str = "sluice_probe";
/// As in `controller/xds/src/render/probe.rs`.
pub const TLS_PROBE: &str = "sluice_probe_tls";

/// As in `controller/xds/src/settings.rs`.
pub const FILTER_METADATA: &str = "sluice.filter";
/// As in `controller/xds/src/settings.rs`.
pub const MODULE_FORM: &str = "module";

/// As in `controller/xds/src/settings.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterForm {
    #[default]
    Wasm,
    Module,
}

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

#[allow(
    dead_code,
    reason = "a removal that is taken back, and the filter in two forms"
)]
pub enum Change {
    Set(Vec<u8>),
    SetFilter { wasm: Vec<u8>, module: Vec<u8> },
    Remove,
    Keep,
}
