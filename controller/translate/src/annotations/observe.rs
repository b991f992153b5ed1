//! What is written down.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Logs and traces",
    annotations: &[
        annotation("enable-access-log", Value::Bool, Risk::Low, Scope::Location),
        annotation("enable-rewrite-log", Value::Bool, Risk::Low, Scope::Location),
        annotation("enable-opentelemetry", Value::Bool, Risk::Low, Scope::Location),
        annotation("opentelemetry-trust-incoming-span", Value::Bool, Risk::Low, Scope::Location),
        annotation("opentelemetry-operation-name", Value::Text, Risk::Medium, Scope::Location),
    ],
};
