//! Stickiness: which requests belong to a session, and how a session begins.

use serde::{Deserialize, Serialize};

/// Sessions by cookie. Where there is affinity, the backend's algorithm has no say, as in ingress-nginx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affinity {
    /// How a session finds its endpoint.
    pub mode: AffinityMode,
    /// The cookie that carries it.
    pub cookie: Cookie,
    /// A retry leaves the session's endpoint, and the session moves to the one that answered.
    #[serde(default, skip_serializing_if = "is_off")]
    pub change_on_failure: bool,
}

/// How a session finds its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinityMode {
    /// The cookie is a key of a consistent hash: new endpoints take their part of the sessions.
    Balanced,
    /// The cookie names the endpoint: a session moves only when its endpoint is gone.
    Persistent,
}

/// A session cookie. `HttpOnly` is always set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// `Expires`, in seconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<i64>,
    /// `Max-Age`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<i64>,
    /// `Path`. Absent: the route's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `Domain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// `Secure`. Absent: when the client's connection is TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure: Option<bool>,
    /// `SameSite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_site: Option<SameSite>,
    /// Leaves `SameSite=None` out for clients that are known to misread it.
    #[serde(default, skip_serializing_if = "is_off")]
    pub conditional_same_site_none: bool,
}

/// The values of `SameSite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameSite {
    /// `None`
    None,
    /// `Lax`
    Lax,
    /// `Strict`
    Strict,
}

fn is_off(flag: &bool) -> bool {
    !flag
}
