//! IP allow and deny lists.

use serde::Serialize;

use crate::{Cidr, is_default};

/// IP allow and deny lists; the deny list comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IpAccess {
    /// Allowed networks; empty allows all.
    #[serde(skip_serializing_if = "is_default")]
    pub allow: Vec<Cidr>,
    /// Denied networks.
    #[serde(skip_serializing_if = "is_default")]
    pub deny: Vec<Cidr>,
}
