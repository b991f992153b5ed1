//! Sizes of bodies and buffers.

use super::catalogue::{Group, Risk, Scope, Value, annotation};

pub(super) const GROUP: Group = Group {
    title: "Bodies and buffers",
    annotations: &[
        annotation("proxy-body-size", Value::Size, Risk::Medium, Scope::Location),
        annotation("client-body-buffer-size", Value::Size, Risk::Low, Scope::Location),
        annotation("proxy-buffering", Value::OnOff, Risk::Low, Scope::Location),
        annotation("proxy-buffer-size", Value::Size, Risk::Low, Scope::Location),
        annotation("proxy-buffers-number", Value::Int, Risk::Low, Scope::Location),
        annotation("proxy-busy-buffers-size", Value::Size, Risk::Low, Scope::Location),
        annotation("proxy-max-temp-file-size", Value::Size, Risk::Low, Scope::Location),
        annotation("proxy-request-buffering", Value::OnOff, Risk::Low, Scope::Location),
    ],
};
