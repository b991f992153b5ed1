//! The answers of DNS for a name, as an input of translation.

use std::collections::BTreeSet;
use std::net::IpAddr;

/// Resolution of a name, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Its addresses in the last answer of DNS.
    pub addresses: BTreeSet<IpAddr>,
    /// Why DNS says nothing else now: the addresses are those of before, or there are none.
    pub failure: Option<String>,
}
