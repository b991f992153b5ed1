//! Pages of other origins.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "CORS",
    annotations: &[
        annotation("enable-cors", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("cors-allow-origin", Value::List, Risk::Medium, Scope::Ingress),
        annotation("cors-allow-methods", Value::List, Risk::Medium, Scope::Ingress),
        annotation("cors-allow-headers", Value::List, Risk::Medium, Scope::Ingress),
        annotation("cors-allow-credentials", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("cors-expose-headers", Value::List, Risk::Medium, Scope::Ingress),
        annotation("cors-max-age", Value::Int, Risk::Low, Scope::Ingress),
    ],
};
