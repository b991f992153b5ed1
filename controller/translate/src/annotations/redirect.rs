//! Answers that lead elsewhere.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Redirects",
    annotations: &[
        annotation("permanent-redirect", Value::Url, Risk::Medium, Scope::Location),
        annotation("permanent-redirect-code", Value::Int, Risk::Low, Scope::Location),
        annotation("temporal-redirect", Value::Url, Risk::Medium, Scope::Location),
        annotation("temporal-redirect-code", Value::Int, Risk::Low, Scope::Location),
        annotation("from-to-www-redirect", Value::Bool, Risk::Low, Scope::Location),
        annotation("relative-redirects", Value::Bool, Risk::Low, Scope::Location),
        annotation("proxy-redirect-from", Value::Text, Risk::Medium, Scope::Location),
        annotation("proxy-redirect-to", Value::Text, Risk::Medium, Scope::Location),
    ],
};
