//! IP allow and deny lists.

use sluice_ir::IpAccess;
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;

pub(super) const GROUP: Group = Group {
    title: "IP allow and deny lists",
    annotations: &[
        annotation(
            "allowlist-source-range",
            Value::Cidrs,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .full(),
        annotation(
            "whitelist-source-range",
            Value::Cidrs,
            Risk::Medium,
            Scope::Location,
        )
        .alias_of("allowlist-source-range")
        .access_control()
        .full(),
        annotation(
            "denylist-source-range",
            Value::Cidrs,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .full(),
        annotation(
            "satisfy",
            Value::OneOf(&["all", "any"]),
            Risk::Low,
            Scope::Location,
        )
        .access_control()
        .may_be_blank()
        .full(),
    ],
};

/// A list of an annotation replaces the ConfigMap's.
pub(super) fn ip_access(view: &mut View<'_, '_>, globals: &Globals) -> IpAccess {
    let default = &globals.access.addresses;
    IpAccess {
        allow: view
            .read("allowlist-source-range", value::cidrs)
            .unwrap_or_else(|| default.allow.clone()),
        deny: view
            .read("denylist-source-range", value::cidrs)
            .unwrap_or_else(|| default.deny.clone()),
    }
}
