//! What paths mean, and what becomes of them.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Paths",
    annotations: &[
        annotation("rewrite-target", Value::Text, Risk::Medium, Scope::Ingress).changes_paths(),
        annotation("use-regex", Value::Bool, Risk::Low, Scope::Location).changes_paths(),
        annotation("app-root", Value::Text, Risk::Medium, Scope::Location),
        annotation("x-forwarded-prefix", Value::Text, Risk::Medium, Scope::Location),
    ],
};
