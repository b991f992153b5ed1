//! The same pod for the same key.

use std::num::NonZeroU32;

use sluice_ir::LoadBalance;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::load_balance::WAITS;
use super::value;
use super::view::View;
use crate::expression;

/// Pods of a subset, when nobody says how many.
const SUBSET: NonZeroU32 = NonZeroU32::new(3).unwrap();

pub(super) const GROUP: Group = Group {
    title: "Hashing",
    annotations: &[
        annotation("upstream-hash-by", Value::Text, Risk::High, Scope::Location).instead(WAITS),
        annotation("upstream-hash-by-subset", Value::Bool, Risk::Low, Scope::Location)
            .instead(WAITS)
            .harmless(&["false"]),
        annotation("upstream-hash-by-subset-size", Value::Int, Risk::Low, Scope::Location)
            .instead(WAITS)
            .harmless(&["0", "3"]),
    ],
};

/// Comes before the algorithm that `load-balance` names.
pub(super) fn hash(view: &mut View<'_, '_>) -> Option<LoadBalance> {
    let is_subset = view.flag("upstream-hash-by-subset");
    let size = view.read("upstream-hash-by-subset-size", value::count).and_then(NonZeroU32::new);
    let key = view.read("upstream-hash-by", expression::parse)?;
    Some(LoadBalance::Hash { key, subset: is_subset.then(|| size.unwrap_or(SUBSET)) })
}
