//! From http to https.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Redirects to https",
    annotations: &[
        annotation("ssl-redirect", Value::Bool, Risk::Low, Scope::Location),
        annotation("force-ssl-redirect", Value::Bool, Risk::Medium, Scope::Location),
        annotation("preserve-trailing-slash", Value::Bool, Risk::Medium, Scope::Location),
        annotation("use-port-in-redirects", Value::Bool, Risk::Low, Scope::Location),
    ],
};
