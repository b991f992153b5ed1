//! Headers of requests and answers.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Headers",
    annotations: &[
        annotation("upstream-vhost", Value::Text, Risk::Low, Scope::Location),
        annotation(
            "connection-proxy-header",
            Value::OneOf(&["close", "keep-alive"]),
            Risk::Low,
            Scope::Location,
        ),
        annotation("custom-headers", Value::ConfigMap, Risk::Medium, Scope::Location).guard(),
        annotation("proxy-cookie-domain", Value::Text, Risk::Medium, Scope::Location),
        annotation("proxy-cookie-path", Value::Text, Risk::Medium, Scope::Location),
    ],
};
