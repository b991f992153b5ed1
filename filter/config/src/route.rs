//! Routes of the filter: the backend of requests that the data plane matched.

use serde::{Deserialize, Serialize};

use crate::{Canary, Connections, Rates, Rewriting};

/// Settings of one route of the data plane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The id of the backend it forwards to: the primary, where there are canaries.
    pub backend: String,
    /// Backends that take a part of its requests, in the order they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<Canary>,
    /// Sessions may begin here: the path of their cookie, unless the affinity names one. Absent: an existing session
    /// is honoured, but no cookie is set (ingress-nginx's list of hosts and paths, as seen from one route).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_path: Option<String>,
    /// How many requests of one client it serves at a time. Not for nginx, which counts them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// How many requests of one client it serves in a time. Not for nginx either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<Rates>,
    /// Replacements in responses. Not for nginx either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Rewriting>,
}

impl Route {
    /// A route that forwards everything to one backend.
    pub fn to(backend: impl Into<String>) -> Self {
        Route {
            backend: backend.into(),
            ..Route::default()
        }
    }
}
