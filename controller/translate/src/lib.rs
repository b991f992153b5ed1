//! Ingresses to the IR, as ingress-nginx understands them.
//!
//! ```text
//!   Object --apply/delete--> Resources --translate--> Translation { config: ir::Config, reports }
//!     (a watch or a file)    (the cache)    ^   |
//!                                           |   +-- class.rs     Ingresses of our classes
//!                                    Options    +-- global/      the ConfigMap
//!                                               +-- annotations/ annotations of an Ingress
//!                                               +-- servers/     hosts, paths, merge order
//!
//!   causes.rs      the annotations and keys behind a part of the configuration
//!
//!   Ingress --admit--> Admission   admission/: the same translation, of one Ingress and its neighbours (claims.rs)
//! ```
//!
//! [`sluice_syntax`] has the grammars of values, `sluice_translate_engine` what does not depend on where routes come from:
//! incremental updates, backends, dependencies. `ingresses.rs` is where this crate meets the engine.
//!
//! Pure and total: the same objects give the same bytes, and every object gives something. What is not honoured is a
//! [`Report`]; one object's fault never changes what another object's traffic does.
//!
//! Absent on purpose: clocks, I/O, errors that stop a translation.

mod admission;
pub mod annotations;
mod causes;
mod claims;
mod class;
mod ext_auth_url;
mod flags;
pub mod global;
mod ingresses;
mod limit_status;
mod limits;
mod options;
mod resources;
mod risk;
mod route_names;
mod servers;
mod settings;
mod snippet;
mod spelling;
mod stapling;
mod streams;
mod support;
mod translate;
mod unserved;
mod v1beta1;
mod variable_places;

pub use admission::{Admission, Rules, admit};
pub use causes::{Causes, Setting, Subject};
pub use class::{RequestedClass, is_ours, left_to_others};
pub use ingresses::Ingresses;
pub use limits::{LIMITS, Limit};
pub use options::{Options, STREAM_CONNECTIONS};
pub use resources::Resources;
pub use sluice_syntax::{CertInfo, DnsName};
pub use sluice_translate_engine::{
    AddressPolicy, AnnotationTexts, CLOSED, Carries, Change, Changes, EndpointHealth,
    EndpointSlice, Forbidden, Ingress, InvalidObject, Kind, METADATA_NETWORKS, Object, ObjectKey,
    ObjectRef, Pod, Provenance, Report, Resolution, RouteOwner, Service, Severity, Snapshot,
    Updated, field_path, ids, is_same_canary, why_closed,
};
pub use snippet::{harmless_directives, own_headers};
pub use support::{DataPlane, Support, Supports};
pub use translate::{Translation, translate};
pub use v1beta1::{leftovers, upgrade};
pub use variable_places::{PLACES, Place};
