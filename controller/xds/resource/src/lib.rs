//! Names and types of the resources that Envoy gets, and updates of them: what the renderer (`sluice-xds`) and the server
//! (`sluice-xds-server`) say to each other.
//!
//! Absent on purpose: the content of a resource. Here it is bytes.

mod form;
mod probe;
mod resource;
mod update;

pub use form::{FILTER_METADATA, FilterForm, MODULE_FORM};
pub use probe::{PROBE, TLS_PROBE, is_probe};
pub use resource::{HTTP, Name, ResourceType};
pub use update::{Change, Update};
