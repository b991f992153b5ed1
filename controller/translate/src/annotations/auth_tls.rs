//! Certificates of clients.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Client certificates",
    annotations: &[
        annotation("auth-tls-secret", Value::Secret, Risk::Medium, Scope::Location).guard(),
        annotation(
            "auth-tls-verify-client",
            Value::OneOf(&["on", "off", "optional", "optional_no_ca"]),
            Risk::Medium,
            Scope::Location,
        )
        .guard(),
        annotation("auth-tls-verify-depth", Value::Int, Risk::Low, Scope::Location).guard(),
        annotation("auth-tls-error-page", Value::Url, Risk::High, Scope::Location).guard(),
        annotation("auth-tls-pass-certificate-to-upstream", Value::Bool, Risk::Low, Scope::Location),
        annotation("auth-tls-match-cn", Value::Text, Risk::High, Scope::Location).guard(),
    ],
};
