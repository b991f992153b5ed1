//! The order in which objects are read.

use std::cmp::Reverse;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{Ingress, ObjectKey};

/// The order in which objects are read: the oldest first, those that are being deleted (`true`) after all others; of the same age by
/// name, the last first.
pub type Age = (bool, Option<Time>, Reverse<ObjectKey>);

/// The age of an Ingress.
#[must_use]
pub fn age(ingress: &Ingress) -> Age {
    (
        ingress.is_being_deleted,
        ingress.created.clone(),
        Reverse(ingress.key()),
    )
}

/// The same, where an object that is not stored yet is the youngest of all (`true`).
pub type Seniority = (bool, Age);

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn ingress(name: &str, created: i64, is_being_deleted: bool) -> Ingress {
        Ingress {
            created: Some(Time(Timestamp::from_second(created).unwrap())),
            is_being_deleted,
            ..Ingress::named(&ObjectKey::new("shop", name))
        }
    }

    #[test]
    fn what_is_being_deleted_yields_to_everything_else() {
        let mut all = [
            ingress("deleted", 1, true),
            ingress("young", 3, false),
            ingress("old", 2, false),
        ];
        all.sort_by_key(age);
        let names = all.map(|ingress| ingress.key().name.to_string());
        assert_eq!(names, ["old", "young", "deleted"]);
    }
}
