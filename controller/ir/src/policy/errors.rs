//! Answers of pods that are replaced.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{BackendId, is_default};

/// Answers with these statuses are replaced by what an error service says, with the status that it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorPages {
    /// Of pods, and of the data plane itself; there is one at least.
    pub statuses: BTreeSet<u16>,
    /// Who answers instead; `None` is a plain 404.
    #[serde(skip_serializing_if = "is_default")]
    pub backend: Option<BackendId>,
    /// What it is told, beside the status.
    pub place: ErrorContext,
}

impl ErrorPages {
    /// Names the requests for an error service, as [`crate::RouteId`] names those of a location. It is none's: hosts
    /// have no `!`.
    #[must_use]
    pub fn route(service: &BackendId) -> String {
        format!("!{service}")
    }
}

/// What the error service is told about the location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErrorContext {
    /// Of the Ingress.
    pub namespace: String,
    /// The Ingress.
    pub ingress: String,
    /// The Service.
    pub service: String,
    /// Its port.
    pub port: String,
}
