//! Answers of pods that are replaced.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::BackendId;

/// Answers with these statuses are replaced by what an error service says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorPages {
    /// Of pods.
    pub statuses: BTreeSet<u16>,
    /// Who answers instead; `None` is a plain 404.
    pub backend: Option<BackendId>,
}

/// What the error service is told about the location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Of the Ingress.
    pub namespace: String,
    /// The Ingress.
    pub ingress: String,
    /// The Service.
    pub service: String,
    /// Its port.
    pub port: String,
}
