//! ModSecurity.

use super::catalogue::{Group, Scope, Value, annotation};
use crate::risk::Risk;

const INSTEAD: &str = "put a web application firewall in front of Sluice";

pub(super) const GROUP: Group = Group {
    title: "Web application firewall",
    annotations: &[
        annotation("enable-modsecurity", Value::Bool, Risk::Low, Scope::Ingress)
            .instead(INSTEAD)
            .harmless(&["false"]),
        annotation(
            "enable-owasp-core-rules",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .instead(INSTEAD)
        .harmless(&["false"]),
        annotation(
            "modsecurity-transaction-id",
            Value::Text,
            Risk::High,
            Scope::Ingress,
        )
        .instead(INSTEAD),
        annotation(
            "modsecurity-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .instead(INSTEAD),
    ],
};
