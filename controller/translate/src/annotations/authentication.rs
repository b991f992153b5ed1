//! Authentication of clients: by password, by an external service, or by any of what is asked for (`satisfy`).

use sluice_ir::Authentication;
use sluice_syntax::value::Parsed;

use super::view::View;
use super::{auth_external, auth_password};
use crate::global::Globals;

/// Authentication of clients; `None` if there is none.
pub(super) fn authentication(view: &mut View<'_, '_>, globals: &Globals) -> Option<Authentication> {
    let any = view.read("satisfy", any).unwrap_or_default();
    let passwords = auth_password::passwords(view);
    let external = auth_external::external_auth(view, globals);
    let is_required = passwords.is_some() || external.is_some();
    is_required.then(|| Authentication {
        tenant: view.namespace.to_string(),
        passwords,
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
