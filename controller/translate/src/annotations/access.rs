//! Who may come in, by address.

use sluice_ir::{Access, Guard};

use super::auth_basic;
use super::catalogue::{CLOSED, Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
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
            .full()
            .nginx(CLOSED),
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

/// What is asked of clients beside their address; `None` when nothing is.
pub(super) fn guard(view: &mut View<'_, '_>) -> Option<Guard> {
    let any = view.read("satisfy", any).unwrap_or_default();
    let passwords = Some(auth_basic::passwords(view)?);
    Some(Guard { passwords, any })
}

fn any(text: &str) -> Parsed<bool> {
    match text {
        "any" => Ok(true),
        "all" => Ok(false),
        _ => Err("all or any".into()),
    }
}
