//! External authentication.

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value;
use super::view::View;
use crate::global::Globals;

/// As ingress-nginx accepts them.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"];

pub(super) const GROUP: Group = Group {
    title: "A service that decides",
    annotations: &[
        annotation("auth-url", Value::Url, Risk::High, Scope::Location).guard(),
        annotation("auth-method", Value::OneOf(METHODS), Risk::Low, Scope::Location).guard(),
        annotation("auth-signin", Value::Url, Risk::High, Scope::Location).guard(),
        annotation("auth-signin-redirect-param", Value::Text, Risk::Medium, Scope::Location).guard(),
        annotation("auth-response-headers", Value::List, Risk::Medium, Scope::Location).guard(),
        annotation("auth-proxy-set-headers", Value::ConfigMap, Risk::Medium, Scope::Location).guard(),
        annotation("auth-request-redirect", Value::Text, Risk::Medium, Scope::Location).guard(),
        annotation("auth-always-set-cookie", Value::Bool, Risk::Low, Scope::Location).guard(),
        annotation("auth-cache-key", Value::Text, Risk::Medium, Scope::Location).guard(),
        annotation("auth-cache-duration", Value::List, Risk::Medium, Scope::Location).guard(),
        annotation("auth-keepalive", Value::Int, Risk::Low, Scope::Location),
        annotation("auth-keepalive-share-vars", Value::Bool, Risk::Low, Scope::Location),
        annotation("auth-keepalive-requests", Value::Int, Risk::Low, Scope::Location),
        annotation("auth-keepalive-timeout", Value::Int, Risk::Low, Scope::Location),
        annotation("auth-snippet", Value::Text, Risk::Critical, Scope::Location).guard(),
        annotation("enable-global-auth", Value::Bool, Risk::Low, Scope::Location)
            .guard()
            .partly("nobody is asked yet: where the ConfigMap has a global-auth-url, only false is served"),
    ],
};

/// Where the operator wants every client authenticated, a location is open only if its Ingress says so.
pub(super) fn global(view: &mut View<'_, '_>, globals: &Globals) {
    let applies = view.read("enable-global-auth", value::bool).unwrap_or(true);
    if applies && globals.authenticates {
        let reason = "the ConfigMap's global-auth-url is not served yet";
        view.without("enable-global-auth", reason, "");
    }
}
