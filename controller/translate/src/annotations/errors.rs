//! Pages for errors.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Errors",
    annotations: &[
        annotation("default-backend", Value::Service, Risk::Low, Scope::Location),
        annotation("custom-http-errors", Value::List, Risk::Low, Scope::Location),
        annotation("disable-proxy-intercept-errors", Value::Bool, Risk::Low, Scope::Location),
    ],
};
