//! Documents that are not applied.

use std::fmt;

use sluice_filter_config::Version;

use crate::InvalidBackend;

/// Why a document was not applied. The tables are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// A delta for other tables than these: ask for a snapshot.
    Base {
        /// Version of these tables.
        have: Option<Version>,
        /// Version that the delta applies to.
        base: Version,
    },
    /// A backend that cannot be compiled.
    Backend {
        /// Its id.
        backend: String,
        /// Error of the backend.
        cause: InvalidBackend,
    },
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::Base {
                have: Some(have),
                base,
            } => write!(f, "delta: base: expected {have}, got {base}"),
            ApplyError::Base { have: None, base } => {
                write!(f, "delta: base: expected a snapshot first, got {base}")
            }
            ApplyError::Backend { backend, cause } => write!(f, "backend {backend:?}: {cause}"),
        }
    }
}
