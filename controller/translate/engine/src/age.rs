//! The order in which objects are read.

use std::cmp::Reverse;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use crate::{ObjectKey, key_of};

/// The order in which objects are read: the oldest first; of the same age by name, the last first.
pub type Age = (Option<Time>, Reverse<ObjectKey>);

/// The age of an object.
#[must_use]
pub fn age(metadata: &ObjectMeta) -> Age {
    (
        metadata.creation_timestamp.clone(),
        Reverse(key_of(metadata)),
    )
}

/// The same, where an object that is not stored yet is the youngest of all (`true`).
pub type Seniority = (bool, Age);
