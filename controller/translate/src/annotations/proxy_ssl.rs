//! Certificates between Sluice and the pods.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "TLS to the pods",
    annotations: &[
        annotation("proxy-ssl-secret", Value::Secret, Risk::Medium, Scope::Ingress).guard(),
        annotation("proxy-ssl-verify", Value::OnOff, Risk::Low, Scope::Ingress).guard(),
        annotation("proxy-ssl-verify-depth", Value::Int, Risk::Low, Scope::Ingress).guard(),
        annotation("proxy-ssl-name", Value::Text, Risk::High, Scope::Ingress).guard(),
        annotation("proxy-ssl-server-name", Value::OnOff, Risk::Low, Scope::Ingress),
        annotation("proxy-ssl-ciphers", Value::Text, Risk::Medium, Scope::Ingress),
        annotation("proxy-ssl-protocols", Value::List, Risk::Low, Scope::Ingress),
    ],
};
