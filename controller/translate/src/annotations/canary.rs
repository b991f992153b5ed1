//! A second backend for some of the requests.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Canaries",
    annotations: &[
        annotation("canary", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("canary-by-header", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("canary-by-header-value", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("canary-by-header-pattern", Value::Regex, Risk::Medium, Scope::Ingress),
        annotation("canary-by-cookie", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("canary-weight", Value::Int, Risk::Low, Scope::Ingress),
        annotation("canary-weight-total", Value::Int, Risk::Low, Scope::Ingress),
    ],
};
