//! Sources of objects: a folder of manifests, or a cluster (`sluice-kube`). Both end in the same events.
//!
//! ```text
//!   folder --fingerprints--> files --text--> documents --objects--+--> Event
//!                  |                             | lines          |
//!                  +-----once: paths, stdin------+--> Places      |
//!                                              a cluster's objects -+
//! ```
//!
//! Absent: the meaning of objects. Whatever can be read is passed on.

mod collected;
mod documents;
mod files;
mod folder;
mod lines;
mod once;
mod templates;
mod yaml;

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::Serialize;
use sluice_translate::{Kind, Object, ObjectKey};

pub use collected::Collected;
pub use files::{Files, read_once};
pub use once::{Input, Location, Places, Reading, read_inputs};

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
    /// The file; or the object.
    pub place: String,
    /// Line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Expectation, finding and consequence.
    pub reason: String,
    /// True if nothing is served worse because of it.
    pub harmless: bool,
    /// True if no Kubernetes object is recognisable: a template, a file of another program.
    #[serde(skip)]
    pub is_foreign: bool,
    /// True if it is about an object that another one of the same name hides.
    #[serde(skip)]
    pub is_duplicate: bool,
}

impl Problem {
    /// A problem because of which something is served worse.
    pub fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Problem {
            place: place.into(),
            line: None,
            reason: reason.into(),
            harmless: false,
            is_foreign: false,
            is_duplicate: false,
        }
    }

    /// A problem because of which nothing is served worse.
    pub fn harmless(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Problem {
            harmless: true,
            ..Problem::new(place, reason)
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.reason),
            None => write!(f, "{}: {}", self.place, self.reason),
        }
    }
}
