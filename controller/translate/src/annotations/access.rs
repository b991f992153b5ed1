//! IP allow and deny lists.

use sluice_ir::{Authentication, IpAccess};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use super::{auth_basic, auth_external};
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
pub(super) fn access(view: &mut View<'_, '_>, globals: &Globals) -> IpAccess {
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

/// Authentication of clients; `None` if there is none.
pub(super) fn authentication(view: &mut View<'_, '_>, globals: &Globals) -> Option<Authentication> {
    let any = view.read("satisfy", any).unwrap_or_default();
    let passwords = auth_basic::passwords(view);
    let external = auth_external::external_auth(view, globals);
    let is_required = passwords.is_some() || external.is_some();
    is_required.then(|| Authentication {
        tenant: view.namespace.clone(),
        basic: passwords,
        external,
        satisfy_any: any,
    })
}

fn any(text: &str) -> Parsed<bool> {
    match text {
        "any" => Ok(true),
        "all" => Ok(false),
        _ => Err("all or any".into()),
    }
}
