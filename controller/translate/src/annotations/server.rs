//! What holds for a whole host.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Hosts and TLS",
    annotations: &[
        annotation("server-alias", Value::List, Risk::High, Scope::Ingress),
        annotation("ssl-ciphers", Value::Text, Risk::Low, Scope::Ingress),
        annotation("ssl-prefer-server-ciphers", Value::Bool, Risk::Low, Scope::Ingress),
        annotation("ssl-passthrough", Value::Bool, Risk::Low, Scope::Ingress),
    ],
};
