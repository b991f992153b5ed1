//! The same pod for the same key.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Hashing",
    annotations: &[
        annotation("upstream-hash-by", Value::Text, Risk::High, Scope::Location),
        annotation("upstream-hash-by-subset", Value::Bool, Risk::Low, Scope::Location),
        annotation("upstream-hash-by-subset-size", Value::Int, Risk::Low, Scope::Location),
    ],
};
