//! Ingresses, and hosts without one: verdicts are given of them.

use std::fmt;

use crate::text::printable;

/// Verdicts are given of these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An Ingress, as `namespace/name`.
    Ingress(String),
    /// A host whose Ingress is not known, or none of whose paths takes the request.
    Host(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Ingress(name) => f.write_str(name),
            Subject::Host(name) => write!(f, "host {}", printable(name)),
        }
    }
}
