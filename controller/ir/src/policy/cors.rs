//! Cross-origin resource sharing.

use serde::Serialize;

/// CORS headers on responses to allowed origins. Preflight requests (`OPTIONS`) are answered by the data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cors {
    /// Allowed origins.
    pub origins: AllowedOrigins,
    /// `Access-Control-Allow-Methods`
    pub allow_methods: String,
    /// `Access-Control-Allow-Headers`
    pub allow_headers: String,
    /// `Access-Control-Allow-Credentials: true`
    pub allow_credentials: bool,
    /// `Access-Control-Expose-Headers`
    pub expose_headers: Option<String>,
    /// `Access-Control-Max-Age`, in seconds.
    pub max_age: i64,
}

/// Allowed origins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedOrigins {
    /// Any origin, and requests without one.
    Any,
    /// These origins.
    Only(Vec<AllowedOrigin>),
}

/// An origin, compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedOrigin {
    /// `https://a.example:8443`, or `null`.
    Exact(String),
    /// One label between these two: `https://` and `.example`.
    Wildcard {
        /// With its slashes.
        scheme: String,
        /// With its first dot.
        suffix: String,
    },
}
