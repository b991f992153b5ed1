//! Preparation of a request before an Envoy of our own looks for its route: a host without a scope gets one, and a path with something
//! encoded is decoded.

use sluice_filter_config::host_contract::{
    ENCODED_ROUTE, LOOKUP_FILTER, PATH_HEADER, SCOPE_HEADER,
};
use sluice_filter_core::Reply;
use sluice_filter_core::path::{self, Canonical, Malformed};

use crate::host;
use crate::request_action::RequestAction;

/// Of an encoded path with its query: Envoy keeps no longer value in metadata, and nginx takes no longer line.
const LONGEST: usize = 8192;

/// Why no route can be looked for.
enum Unresolved {
    Malformed,
    TooLong,
}

/// This is the filter that comes before the look-up. Both are in one VM; the plugin's name tells them apart.
pub(crate) fn is_lookup_filter() -> bool {
    host::property(b"plugin_name").is_some_and(|name| name == LOOKUP_FILTER.as_bytes())
}

/// The header that has the path and the query as the client sent them.
pub(crate) fn original_path() -> Option<Vec<u8>> {
    host::request_header(PATH_HEADER).filter(|path| !path.is_empty())
}

/// Makes Envoy look for the routes of this scope.
pub(crate) fn set_scope(scope: &str) -> bool {
    host::set_request_header(SCOPE_HEADER, scope.as_bytes())
}

/// The match is no route, but the route of encoded paths.
pub(crate) fn is_encoded_route(route: &str) -> bool {
    route == ENCODED_ROUTE
}

/// Writes the path in the one way that routes are looked for by.
pub(crate) fn resolve_path() -> RequestAction {
    let reply = match try_resolving() {
        Ok(()) => return RequestAction::Continue,
        Err(Unresolved::Malformed) => Reply::BAD_PATH,
        Err(Unresolved::TooLong) => Reply::LONG_PATH,
    };
    host::reply(reply);
    RequestAction::Respond
}

/// The pod gets the path as it was sent, unless dot segments were hidden in it: a pod that does not decode slashes would resolve
/// those differently.
fn try_resolving() -> Result<(), Unresolved> {
    let sent = host::request_header(":path").unwrap_or_default();
    if !path::is_encoded(&sent) || original_path().is_some() {
        return Ok(());
    }
    if sent.len() > LONGEST {
        return Err(Unresolved::TooLong);
    }
    let Canonical { target, had_dots } =
        path::canonical(&sent).map_err(|Malformed| Unresolved::Malformed)?;
    host::set_request_header(PATH_HEADER, if had_dots { &target } else { &sent });
    host::set_request_header(":path", &target);
    Ok(())
}
