//! Session affinity: a client stays with its endpoint, by a cookie.

use serde::Serialize;

use crate::is_default;

/// A client stays with its pod, by a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Affinity {
    /// Movement of clients when endpoints are added.
    pub mode: AffinityMode,
    /// The cookie.
    pub cookie: Cookie,
    /// A client whose pod failed gets another one, and another cookie.
    #[serde(skip_serializing_if = "is_default")]
    pub change_on_failure: bool,
}

/// Movement of clients when endpoints are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinityMode {
    /// Some do, so that all pods have their share.
    #[default]
    Balanced,
    /// None does while its pod is there.
    Persistent,
}

/// RFC 6265, as ingress-nginx writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// `Path`; `None` is the path of the Ingress that took the request.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// `Domain`
    #[serde(skip_serializing_if = "is_default")]
    pub domain: Option<String>,
    /// `SameSite`
    #[serde(skip_serializing_if = "is_default")]
    pub same_site: Option<SameSite>,
    /// `SameSite=None` is left out for browsers that take it for `Strict`.
    #[serde(skip_serializing_if = "is_default")]
    pub conditional_same_site_none: bool,
    /// `Secure` also over plain http.
    #[serde(skip_serializing_if = "is_default")]
    pub secure: bool,
    /// `Expires`, in seconds from now.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: Option<i64>,
    /// `Max-Age`, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub max_age: Option<i64>,
}

/// `SameSite` of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants are the values")]
pub enum SameSite {
    None,
    Lax,
    Strict,
}
