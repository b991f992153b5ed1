//! Kubernetes objects to the IR.
//!
//! ```text
//!   Object --apply/delete--> Resources --translate--> Translation { config: ir::Config, reports }
//!     (a watch or a file)    (the cache)    ^   |
//!                                           |   +-- class.rs    is the Ingress ours?
//!                                    Options    +-- servers.rs  hosts, paths, merge order
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

mod admission;
pub mod annotations;
mod backends;
mod beta;
mod certificate;
mod claims;
mod class;
mod endpoints;
mod expression;
mod finish;
pub mod global;
mod ground;
mod islands;
mod leaf;
mod ledger;
mod object;
mod options;
mod outside;
mod path;
mod pcre;
mod pods;
mod references;
mod regex;
mod report;
mod resources;
mod secrets;
mod servers;
mod slices;
mod streams;
mod support;
mod template;
mod translation;
mod update;
mod zones;

pub use admission::{Admission, Rules, admit};
pub use beta::{misplaced, upgrade};
pub use class::{ANNOTATION as CLASS_ANNOTATION, is_ours};
pub use leaf::Leaf;
pub use object::{InvalidObject, Kind, Object, ObjectKey, ObjectRef};
pub use options::Options;
pub use pods::Pod;
pub use report::{Report, Severity};
pub use resources::{Change, Changes, Resources};
pub use slices::EndpointSlice;
pub use support::{DataPlane, Support, Supports};
pub use translation::{Translation, Updated, translate};
