//! Sources of objects: a folder of manifests, or a cluster (`sluice-kube`). Both end in the same events.
//!
//! ```text
//!   folder --fingerprints--> files --text--> documents --objects--+--> Event
//!                                              a cluster's objects -+
//! ```
//!
//! Absent: the meaning of objects. Whatever can be read is passed on.

mod documents;
mod files;
mod folder;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;
use sluice_translate::{Kind, Object, ObjectKey};

pub use files::{Files, read_once};

/// Event of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// This object is there now.
    Apply(Object),
    /// This one no longer is.
    Delete(Kind, ObjectKey),
    /// IngressClasses cannot be read at all.
    IngressClassesForbidden,
    /// The machines that run Sluice now, beside those that objects tell of.
    Machines(BTreeSet<IpAddr>),
    /// Something that is there cannot be read.
    Problem(Problem),
    /// The initial objects are complete.
    Ready,
}

/// A problem of a source that belongs to no object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, and the document in it when it has several; or the object.
    pub place: String,
    /// Expectation, finding and consequence.
    pub reason: String,
    /// True if nothing is served worse because of it.
    pub harmless: bool,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}
