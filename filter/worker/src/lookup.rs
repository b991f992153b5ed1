//! Preparation of a request before an Envoy of our own looks for its route: a host without a scope gets one, a path with something
//! encoded is decoded, and patterns that Envoy cannot compare are compared.

use sluice_filter_config::host_contract::{
    ENCODED_ROUTE, GROUP_HEADER, MOST_GROUPS, PATH_HEADER, PATTERN_HEADER,
};
use sluice_filter_core::Reply;
use sluice_filter_core::path::{self, Canonical, Malformed};
use sluice_filter_core::path_patterns::{PatternLists, is_patterns_route};

use crate::{RequestAction, Stream};

/// Of an encoded path with its query: Envoy keeps no longer value in metadata, and nginx takes no longer line.
const LONGEST: usize = 8192;

/// Why no route can be looked for.
enum Unresolved {
    Malformed,
    TooLong,
}

/// The match is no route, but that of encoded paths, or of all paths of a host with patterns that Envoy cannot compare.
pub(crate) fn is_unresolved(route: &str) -> bool {
    route == ENCODED_ROUTE || is_patterns_route(route)
}

/// Writes the path in the one way that routes are looked for by.
pub(crate) fn resolve_path(stream: &impl Stream) -> RequestAction {
    let reply = match try_resolving(stream) {
        Ok(()) => return RequestAction::Continue,
        Err(Unresolved::Malformed) => Reply::BAD_PATH,
        Err(Unresolved::TooLong) => Reply::LONG_PATH,
    };
    stream.reply(reply);
    RequestAction::Respond
}

/// The pod gets the path as it was sent, unless dot segments were hidden in it: a pod that does not decode slashes would resolve
/// those differently.
fn try_resolving(stream: &impl Stream) -> Result<(), Unresolved> {
    let sent = stream.first_header(":path").unwrap_or_default();
    let is_resolved = || {
        stream
            .first_header(PATH_HEADER)
            .is_some_and(|path| !path.is_empty())
    };
    if path::is_plain(&sent) || is_resolved() {
        return Ok(());
    }
    if sent.len() > LONGEST {
        return Err(Unresolved::TooLong);
    }
    let Canonical { target, had_dots } =
        path::canonical(&sent).map_err(|Malformed| Unresolved::Malformed)?;
    stream.set_request_header(PATH_HEADER, if had_dots { &target } else { &sent });
    stream.set_request_header(":path", &target);
    Ok(())
}

/// Says which pattern takes the path, which is written in the one way, and what its groups hold.
pub(crate) fn match_patterns(
    stream: &impl Stream,
    lists: &mut PatternLists,
    route: &str,
) -> RequestAction {
    let target = stream.first_header(":path").unwrap_or_default();
    let path = target
        .split(|byte| *byte == b'?')
        .next()
        .unwrap_or_default();
    // nginx compares what a path means.
    let path = path::meaning(path);
    let Some(found) = lists.first_match(route, &path) else {
        return RequestAction::Continue;
    };
    if let Some(captures) = &found.captures {
        if target.len() > LONGEST {
            stream.reply(Reply::LONG_PATH);
            return RequestAction::Respond;
        }
        for group in 1..=MOST_GROUPS {
            let text = captures.get(group);
            if !text.is_empty() {
                let name = format!("{GROUP_HEADER}{group}");
                stream.set_request_header(&name, &path::encoded(text));
            }
        }
    }
    stream.set_request_header(PATTERN_HEADER, found.value.as_bytes());
    RequestAction::Continue
}
