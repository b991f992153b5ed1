//! Who may come in, by address.

use sluice_ir::Access;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value;
use super::view::View;
use crate::global::Globals;

pub(super) const GROUP: Group = Group {
    title: "Who may come in, by address",
    annotations: &[
        annotation("allowlist-source-range", Value::Cidrs, Risk::Medium, Scope::Location).guard().full(),
        annotation("whitelist-source-range", Value::Cidrs, Risk::Medium, Scope::Location)
            .alias_of("allowlist-source-range")
            .guard()
            .full(),
        annotation("denylist-source-range", Value::Cidrs, Risk::Medium, Scope::Location).guard().full(),
        annotation("satisfy", Value::OneOf(&["all", "any"]), Risk::Low, Scope::Location)
            .guard()
            .instead("every check must pass; use one of them for each path")
            .harmless(&["all"]),
    ],
};

/// A list of an annotation replaces the ConfigMap's.
pub(super) fn access(view: &mut View<'_, '_>, globals: &Globals) -> Access {
    let default = &globals.access;
    Access {
        allow: view.read("allowlist-source-range", value::cidrs).unwrap_or_else(|| default.allow.clone()),
        deny: view.read("denylist-source-range", value::cidrs).unwrap_or_else(|| default.deny.clone()),
    }
}
