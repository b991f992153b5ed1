//! Rewriting of upstream locations in responses.

use serde::{Deserialize, Serialize};

use crate::HashKey;

/// Of the responses of pods. nginx does it itself and ignores this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewriting {
    /// Prefix of `Location` and of the URL in `Refresh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Replaced>,
    /// The whole `Domain` of cookies, in any case and behind a dot or not. These texts have no dot in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_domains: Option<Replaced>,
    /// Prefix of `Path` in cookies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_paths: Option<Replaced>,
}

/// One text for another, each with variables of the request in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    /// Text from the upstream.
    pub from: HashKey,
    /// Text for the client.
    pub to: HashKey,
}
