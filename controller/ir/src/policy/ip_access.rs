//! Who may come in, by address.

use serde::Serialize;

use crate::{Cidr, is_default};

/// What is denied counts before what is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IpAccess {
    /// Only these; nobody is named: everybody.
    #[serde(skip_serializing_if = "is_default")]
    pub allow: Vec<Cidr>,
    /// Not these.
    #[serde(skip_serializing_if = "is_default")]
    pub deny: Vec<Cidr>,
}
