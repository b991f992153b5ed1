//! What is written down.

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value;
use super::view::View;

const NO_TRACES: &str = "trace in the pods; Sluice sends no spans yet";

pub(super) const GROUP: Group = Group {
    title: "Logs and traces",
    annotations: &[
        annotation("enable-access-log", Value::Bool, Risk::Low, Scope::Location)
            .partly("requests are written down where --access-log says so")
            .harmless(&["false"]),
        annotation("enable-rewrite-log", Value::Bool, Risk::Low, Scope::Location)
            .instead("`sluice render` shows what becomes of a path")
            .harmless(&["false"]),
        annotation("enable-opentelemetry", Value::Bool, Risk::Low, Scope::Location)
            .instead(NO_TRACES)
            .harmless(&["false"]),
        annotation("opentelemetry-trust-incoming-span", Value::Bool, Risk::Low, Scope::Location)
            .instead(NO_TRACES),
        annotation("opentelemetry-operation-name", Value::Text, Risk::Medium, Scope::Location)
            .instead(NO_TRACES),
    ],
};

/// Whether nothing is written down about the requests.
pub(super) fn unlogged(view: &mut View<'_, '_>) -> bool {
    !view.read("enable-access-log", value::bool).unwrap_or(true)
}
