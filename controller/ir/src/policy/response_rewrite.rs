//! Rewriting of locations in responses: upstreams do not know the URLs that clients use.

use serde::Serialize;

use crate::{Expression, is_default};

/// Of the answers of pods. Where a text begins like [`Replacement::from`], that part of it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseRewrite {
    /// In the headers `Location` and `Refresh`.
    #[serde(skip_serializing_if = "is_default")]
    pub redirects: Option<Replacement>,
    /// In `Domain` of cookies; the whole of it.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_domains: Option<Replacement>,
    /// In `Path` of cookies.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_paths: Option<Replacement>,
}

/// Replacement of one text by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// Text that the upstream sends.
    pub from: Expression,
    /// Text that clients get.
    pub to: Expression,
}
