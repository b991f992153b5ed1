//! Basic authentication against a Secret.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Passwords",
    annotations: &[
        annotation("auth-type", Value::OneOf(&["basic", "digest"]), Risk::Low, Scope::Location).guard(),
        annotation("auth-secret", Value::Secret, Risk::Medium, Scope::Location).guard(),
        annotation("auth-secret-type", Value::OneOf(&["auth-file", "auth-map"]), Risk::Low, Scope::Location)
            .guard(),
        annotation("auth-realm", Value::Text, Risk::Medium, Scope::Location).guard(),
    ],
};
