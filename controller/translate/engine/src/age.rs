//! The order in which objects are read.

use std::cmp::Reverse;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use crate::{ObjectKey, key_of};

/// The order in which objects are read: the oldest first, those that are being deleted (`true`) after all others; of the same age by
/// name, the last first.
pub type Age = (bool, Option<Time>, Reverse<ObjectKey>);

/// The age of an object.
#[must_use]
pub fn age(metadata: &ObjectMeta) -> Age {
    (
        metadata.deletion_timestamp.is_some(),
        metadata.creation_timestamp.clone(),
        Reverse(key_of(metadata)),
    )
}

/// The same, where an object that is not stored yet is the youngest of all (`true`).
pub type Seniority = (bool, Age);

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn object(name: &str, created: i64, is_deleted: bool) -> ObjectMeta {
        let at = |seconds| Some(Time(Timestamp::from_second(seconds).unwrap()));
        ObjectMeta {
            name: Some(name.to_owned()),
            creation_timestamp: at(created),
            deletion_timestamp: at(100).filter(|_| is_deleted),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn what_is_being_deleted_yields_to_everything_else() {
        let mut all = [
            object("deleted", 1, true),
            object("young", 3, false),
            object("old", 2, false),
        ];
        all.sort_by_key(age);
        let names = all.map(|object| object.name.unwrap());
        assert_eq!(names, ["old", "young", "deleted"]);
    }
}
