//! What pods say about where they are, written anew: they do not know where clients see them.

use serde::Serialize;

use crate::{Expression, is_default};

/// Of the answers of pods. Where a text begins like [`Replaced::from`], that part of it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rewritten {
    /// In `Location` and `Refresh`.
    #[serde(skip_serializing_if = "is_default")]
    pub redirects: Option<Replaced>,
    /// In `Domain` of cookies; the whole of it.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_domains: Option<Replaced>,
    /// In `Path` of cookies.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_paths: Option<Replaced>,
}

/// One text for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// What a pod says.
    pub from: Expression,
    /// What clients see.
    pub to: Expression,
}
