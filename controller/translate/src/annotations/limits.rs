//! How much one client may ask for.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Limits",
    annotations: &[
        annotation("limit-connections", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-rps", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-rpm", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-burst-multiplier", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-rate", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-rate-after", Value::Int, Risk::Low, Scope::Location),
        annotation("limit-allowlist", Value::Cidrs, Risk::Low, Scope::Location),
        annotation("limit-whitelist", Value::Cidrs, Risk::Low, Scope::Location).alias_of("limit-allowlist"),
    ],
};
