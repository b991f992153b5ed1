//! Names and types of the resources that Envoy gets, and updates of them: what the renderer (`sluice-xds`) and the server
//! (`sluice-xds-server`) say to each other.
//!
//! Absent on purpose: the content of a resource. Here it is bytes.

mod envoy_version;
mod form;
mod probe;
mod resource;
mod update;

pub use envoy_version::{TESTED_ENVOY, flaw_of_envoy};
pub use form::{FILTER_METADATA, FilterForm, MODULE_FORM};
pub use probe::{PROBE, TLS_PROBE, is_probe};
pub use resource::{HTTP, Name, ResourceType};
pub use update::{Change, Update};
