//! Sessions that stay with a pod.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Stickiness",
    annotations: &[
        annotation("affinity", Value::OneOf(&["cookie"]), Risk::Low, Scope::Ingress),
        annotation("affinity-mode", Value::OneOf(&["balanced", "persistent"]), Risk::Medium, Scope::Ingress),
        annotation(
            "affinity-canary-behavior",
            Value::OneOf(&["sticky", "legacy"]),
            Risk::Low,
            Scope::Ingress,
        ),
        annotation("session-cookie-name", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("session-cookie-path", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("session-cookie-domain", Value::Text, Risk::Medium, Scope::Ingress),
        annotation(
            "session-cookie-samesite",
            Value::OneOf(&["None", "Lax", "Strict"]),
            Risk::Low,
            Scope::Ingress,
        ),
        annotation("session-cookie-conditional-samesite-none", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("session-cookie-secure", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("session-cookie-expires", Value::Int, Risk::Medium, Scope::Ingress),
        annotation("session-cookie-max-age", Value::Int, Risk::Medium, Scope::Ingress),
        annotation("session-cookie-change-on-failure", Value::Bool, Risk::Low, Scope::Ingress),
    ],
};
