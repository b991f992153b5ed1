//! What pods say about where they are, written anew for clients.

use serde::{Deserialize, Serialize};

use crate::HashKey;

/// Of the answers of pods. nginx does it itself, and there nobody looks at this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewriting {
    /// What `Location` begins with, and the URL in `Refresh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Replaced>,
    /// The whole `Domain` of cookies, in any case and behind a dot or not. These texts have no dot in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_domains: Option<Replaced>,
    /// What `Path` of cookies begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_paths: Option<Replaced>,
}

/// One text for another, each with variables of the request in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    /// What a pod says.
    pub from: HashKey,
    /// What clients see.
    pub to: HashKey,
}
