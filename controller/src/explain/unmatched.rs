//! Requests for a path that no Ingress of a host has.

use sluice_explain::{Explanation, Outcome, Route, path};
use sluice_translate::{RouteOwner, Translation};

/// Paths of a host that are listed.
const MOST: usize = 20;

/// The paths of the host of a request, as they are written, where none of them takes it; `None`: one does, or there is no such host.
pub(super) fn paths_of_host(
    explanation: &Explanation,
    translation: &Translation,
) -> Option<Vec<String>> {
    let server = translation
        .config()
        .servers
        .get(&explanation.server_name()?)?;
    let owners = translation.owners();
    let is_unmatched = match &explanation.route {
        Some(route) => owners.get(&route.id).is_some_and(is_of_host),
        None => matches!(explanation.outcome, Outcome::Respond { status: 404 }),
    };
    let written = server.routes.iter().filter_map(|route| {
        let owner = owners.get(&route.id).filter(|owner| !is_of_host(owner))?;
        let route = Route::of(route);
        let text = owner.written.as_deref();
        Some(match text {
            // A location has its modifier.
            Some(text) if !text.starts_with('/') => text.to_owned(),
            Some(text) => path(&route, text),
            None => path(&route, route.path.text()),
        })
    });
    let mut paths: Vec<String> = written.collect();
    paths.dedup();
    // The server of all other hosts has no owner who could be told.
    let is_said = explanation.route.is_some() || !paths.is_empty();
    (is_unmatched && is_said).then_some(paths)
}

/// The paths of a host that nothing matches are those of its first rule, by the field of the host.
fn is_of_host(owner: &RouteOwner) -> bool {
    owner.field.starts_with("spec.rules[") && owner.field.ends_with("].host")
}

/// A line about them.
pub(super) fn text(paths: &[String]) -> String {
    let listed = paths
        .iter()
        .take(MOST)
        .map(String::as_str)
        .collect::<Vec<_>>();
    let more = paths.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!(" and {more} more"));
    let more = more.unwrap_or_default();
    match listed.is_empty() {
        true => "none matches; the host has no paths".to_owned(),
        false => format!("none matches; the host has {}{more}", listed.join(", ")),
    }
}
