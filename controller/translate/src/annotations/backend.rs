//! What is spoken with the pods.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Protocols to the pods",
    annotations: &[
        annotation(
            "backend-protocol",
            Value::OneOf(&["HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"]),
            Risk::Low,
            Scope::Location,
        ),
        annotation("proxy-http-version", Value::OneOf(&["1.0", "1.1"]), Risk::Low, Scope::Location),
        annotation("fastcgi-index", Value::Text, Risk::Medium, Scope::Location),
        annotation("fastcgi-params-configmap", Value::ConfigMap, Risk::Medium, Scope::Location),
        annotation("http2-push-preload", Value::Bool, Risk::Low, Scope::Location),
    ],
};
