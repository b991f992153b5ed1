//! A copy of each request.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Mirrors",
    annotations: &[
        annotation("mirror-target", Value::Url, Risk::High, Scope::Ingress),
        annotation("mirror-host", Value::Text, Risk::High, Scope::Ingress),
        annotation("mirror-request-body", Value::OnOff, Risk::Low, Scope::Ingress),
    ],
};
