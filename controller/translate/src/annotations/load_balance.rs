//! How a backend chooses among its pods.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Balancing",
    annotations: &[
        annotation("load-balance", Value::OneOf(&["round_robin", "ewma"]), Risk::Low, Scope::Location),
        annotation("service-upstream", Value::Bool, Risk::Low, Scope::Ingress),
    ],
};
