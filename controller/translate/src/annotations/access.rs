//! Allow and deny lists.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Who may come in, by address",
    annotations: &[
        annotation("allowlist-source-range", Value::Cidrs, Risk::Medium, Scope::Location).guard(),
        annotation("whitelist-source-range", Value::Cidrs, Risk::Medium, Scope::Location)
            .alias_of("allowlist-source-range")
            .guard(),
        annotation("denylist-source-range", Value::Cidrs, Risk::Medium, Scope::Location).guard(),
        annotation("satisfy", Value::OneOf(&["all", "any"]), Risk::Low, Scope::Location).guard(),
    ],
};
