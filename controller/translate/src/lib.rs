//! Kubernetes objects to the IR.
//!
//! ```text
//!   Object --apply/delete--> Resources --translate--> Translation { config: ir::Config, reports }
//!     (a watch or a file)    (the cache)    ^   |
//!                                           |   +-- class.rs    is the Ingress ours?
//!                                    Options    +-- servers/    hosts, paths, merge order
//!                                               +-- backends.rs services and their endpoints
//!                                               +-- annotations/ what people add
//!
//!   Ingress --admit--> Admission   admission/: the same translation, of one Ingress and its neighbours (claims.rs)
//! ```
//!
//! Pure and total: the same objects give the same bytes, and every object gives something. What is not honoured is a
//! [`Report`]; one object's fault never changes what another object's traffic does.
//!
//! Absent on purpose: clocks, I/O, errors that stop a translation.

mod address_policy;
mod admission;
pub mod annotations;
mod backend_registry;
mod backends;
mod claims;
mod class;
mod components;
mod dns_name;
mod endpoints;
mod external_host;
pub mod global;
mod limits;
mod object;
mod object_ref;
mod options;
mod overlay_canaries;
mod own;
mod pods;
mod references;
mod report;
mod resources;
mod secrets;
mod servers;
mod shared_inputs;
mod slices;
mod snapshot;
mod snippet;
mod streams;
mod support;
mod translation;
mod update;
mod v1beta1;
mod wildcards;
mod zones;

pub use address_policy::{AddressPolicy, Carries, Forbidden, METADATA_NETWORKS, Provenance};
pub use admission::{Admission, Rules, admit};
pub use class::{ANNOTATION as CLASS_ANNOTATION, is_ours};
pub use dns_name::Resolution;
pub use limits::{LIMITS, Limit};
pub use object::{InvalidObject, Object};
pub use object_ref::{Kind, ObjectKey, ObjectRef};
pub use options::{Options, STREAM_CONNECTIONS};
pub use pods::Pod;
pub use report::{Report, Severity};
pub use resources::{Change, Changes, Resources};
pub use slices::EndpointSlice;
pub use sluice_syntax::{CertInfo, DnsName};
pub use snapshot::Snapshot;
pub use snippet::harmless_directives;
pub use support::{DataPlane, Support, Supports};
pub use translation::{Translation, Updated, translate};
pub use v1beta1::{misplaced, upgrade};
