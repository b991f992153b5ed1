//! Incremental translation to the IR, whatever its routes come from.
//!
//! ```text
//!   Object --apply/delete--> ObjectCache     Services, endpoints, Secrets, ConfigMaps
//!                               |
//!   RouteInput (Ingresses) --update.rs--> Translation { config: ir::Config, reports }
//!                               |-- components.rs, route_groups.rs   what shares a host is translated together
//!                               |-- references.rs                    ... and again when something it depends on changes
//!                               |-- backend_registry.rs              what several of them decide together
//!                               +-- backends/                        Services and their endpoints
//! ```
//!
//! Pure and total: the same objects give the same bytes, and every object gives something. What is not honoured is a
//! [`Report`]; one object's fault never changes what another object's traffic does.
//!
//! Absent on purpose: kinds of routes and their annotations, clocks, I/O, errors that stop a translation.

mod address_policy;
mod age;
mod assembled;
mod backend_registry;
mod backends;
mod canaries;
mod changes;
mod components;
mod endpoint_health;
mod endpoints;
mod external_host;
mod few;
pub mod ids;
mod ingress;
mod input;
mod kind;
mod known_secret;
mod object;
mod object_cache;
mod object_names;
mod object_ref;
mod overlay_canaries;
mod own_addresses;
mod pods;
mod references;
mod report;
mod resolution;
mod route_groups;
mod secrets;
mod service;
mod service_port;
mod slices;
mod snapshot;
mod translation;
mod update;
mod upstream_options;
mod upstream_url;
mod used_names;
mod user_list;
mod wildcards;
mod zones;

pub use address_policy::{AddressPolicy, Carries, Forbidden, METADATA_NETWORKS, Provenance};
pub use age::{Age, Seniority, age};
pub use assembled::{Assembled, ErrorService, Flags, Owners, RouteOwner};
pub use backends::{
    Authority, BackendRef, BackendRefs, BackendSettings, BackendSource, Balance, PrecedenceTier,
    ReferencePrecedence, ReferenceSite, Spoken, Traffic, service_address,
};
pub use canaries::{CanaryCandidate, MAX_CANARIES, is_same_canary};
pub use changes::{Change, Changes};
pub use endpoint_health::EndpointHealth;
pub use external_host::ExternalHost;
pub use ingress::{AnnotationTexts, Ingress};
pub use input::{Member, Membership, RouteInput, SharedInputs};
pub use kind::Kind;
pub use known_secret::KnownSecret;
pub use object::{InvalidObject, Object};
pub use object_cache::{ObjectCache, put};
pub use object_ref::{ObjectKey, ObjectRef};
pub use own_addresses::effective_policy;
pub use pods::Pod;
pub use references::{DependencyTracker, References, with_namespace};
pub use report::{
    CLOSED, Cause, ClosedFor, Report, Reporter, Severity, closed, field_path, listed, why_closed,
};
pub use resolution::Resolution;
pub use secrets::{Secrets, UpstreamSecret};
pub use service::Service;
pub use service_port::Port;
pub use slices::EndpointSlice;
pub use snapshot::Snapshot;
pub use translation::{Translation, Updated};
pub use upstream_options::UpstreamOptions;
pub use upstream_url::UpstreamUrl;
pub use user_list::UserList;
pub use wildcards::{WildcardHolder, Wildcards, key_of_age};
