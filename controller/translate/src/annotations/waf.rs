//! ModSecurity.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Web application firewall",
    annotations: &[
        annotation("enable-modsecurity", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("enable-owasp-core-rules", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("modsecurity-transaction-id", Value::Text, Risk::High, Scope::Ingress),
        annotation("modsecurity-snippet", Value::Text, Risk::Critical, Scope::Ingress),
    ],
};
