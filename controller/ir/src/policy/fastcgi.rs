//! FastCGI parameters: what an application hears beside the request.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Expression, is_default};

/// Parameters for upstreams with [`crate::Protocol::FastCgi`], beside those of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FastCgi {
    /// File name behind a path that ends with a slash.
    #[serde(skip_serializing_if = "is_default")]
    pub index: Option<String>,
    /// By name: capital letters, digits and underscores. None begins with `HTTP_`: those are request headers.
    #[serde(skip_serializing_if = "is_default")]
    pub params: BTreeMap<String, Expression>,
}
