//! Kubernetes objects to the IR.
//!
//! ```text
//!   Object --apply/delete--> Resources --translate--> Translation { config: ir::Config, reports }
//!     (a watch or a file)    (the cache)    ^   |
//!                                           |   +-- class.rs    is the Ingress ours?
//!                                    Options    +-- servers.rs  hosts, paths, merge order
//!                                               +-- backends.rs services and their endpoints
//!                                               +-- annotations/ what people add
//! ```
//!
//! Pure and total: the same objects give the same bytes, and every object gives something. What is not honoured is a
//! [`Report`]; one object's fault never changes what another object's traffic does.
//!
//! Absent on purpose: clocks, I/O, errors that stop a translation.

pub mod annotations;
mod backends;
mod class;
mod endpoints;
mod expression;
pub mod global;
mod object;
mod options;
mod outside;
mod path;
mod references;
mod regex;
mod report;
mod resources;
mod secrets;
mod servers;
mod template;
mod translation;

pub use annotations::Support;
pub use class::{ANNOTATION as CLASS_ANNOTATION, is_ours};
pub use object::{InvalidObject, Kind, Object, ObjectKey, ObjectRef};
pub use options::Options;
pub use report::{Report, Severity};
pub use resources::{Change, Resources};
pub use translation::{Translation, translate};
