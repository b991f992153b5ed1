//! Holders of the names under a wildcard host (R12 of the security rules).
//!
//! ```text
//!   Ingresses that name *.a.example --oldest of ours--> its holder <-- looked up by route groups with a host x.a.example
//! ```
//!
//! A wildcard does not connect the hosts under it, or all applications of a platform would be one component. So who holds a
//! wildcard is kept here, with whether it has a certificate, and only when that changes the route groups under it are translated
//! again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Hostname, ServerName};

use crate::ObjectKey;
use crate::age::Age;

/// The holder of each wildcard host, by the suffix after the star.
pub type Wildcards = BTreeMap<Hostname, WildcardHolder>;

/// The holder of a wildcard host, and what hosts under it get from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardHolder {
    /// The oldest object that names it.
    pub age: Age,
    /// It has a `tls` section, so it presents a certificate, if only the default one. Hosts of its namespace that have none of their
    /// own present it, too.
    pub has_certificate: bool,
}

impl WildcardHolder {
    /// The oldest object that names it.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        key_of_age(&self.age)
    }
}

/// The object of an age.
#[must_use]
pub fn key_of_age((_, _, Reverse(key)): &Age) -> &ObjectKey {
    key
}

/// Suffixes of the wildcards that cover these names.
pub(crate) fn over<'a>(names: impl IntoIterator<Item = &'a ServerName>) -> BTreeSet<Hostname> {
    names
        .into_iter()
        .filter_map(ServerName::wildcard_suffix)
        .collect()
}

/// Of the wildcards among these names.
pub(crate) fn among<'a>(names: impl IntoIterator<Item = &'a ServerName>) -> BTreeSet<Hostname> {
    let wildcards = names.into_iter().filter_map(|name| match name {
        ServerName::Wildcard(suffix) => Some(suffix.clone()),
        ServerName::Exact(_) | ServerName::CatchAll => None,
    });
    wildcards.collect()
}
