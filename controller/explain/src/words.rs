//! Words for what the model does not know of a request: the texts of owners of routes, and the settings that have a part in it.

use sluice_ir::{Config, PathMatch, RouteId};

use crate::explanation::{Explanation, Outcome, Route};

/// Paths of a host that are listed.
const MOST: usize = 20;

/// Beside an explanation, of the objects behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    /// The path as its owner has written it, if the route matches it in other words.
    pub written_path: Option<&'a str>,
    /// [`paths_of_host`]
    pub paths: Option<&'a [String]>,
    /// Name of the certificate, for its id.
    pub certificate: Option<&'a str>,
    /// Why paths are closed, if it is not access control.
    pub closed: Option<&'a str>,
}

impl Words<'_> {
    /// The text of the path.
    pub(crate) fn path(&self, route: Option<&Route>) -> Option<String> {
        match (self.paths, route) {
            (Some(paths), _) => Some(none_matches(paths)),
            (None, Some(route)) => Some(written(route, self.written_path)),
            (None, None) => None,
        }
    }
}

/// The owner of a route, as far as an explanation needs it.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The path as it is written, if the route matches it in other words.
    pub written: Option<&'a str>,
    /// The route is not of a path: it takes what none of the host's does.
    pub is_of_host: bool,
}

/// The paths of the host of a request, as they are written, where none of them takes it; `None`: one does, or there is no such host.
#[must_use]
pub fn paths_of_host<'a>(
    explanation: &Explanation,
    config: &Config,
    owner: impl Fn(&RouteId) -> Option<Owner<'a>>,
) -> Option<Vec<String>> {
    let server = config.servers.get(&explanation.server_name()?)?;
    let is_unmatched = match &explanation.route {
        Some(route) => owner(&route.id).is_some_and(|owner| owner.is_of_host),
        None => matches!(explanation.outcome, Outcome::Respond { status: 404 }),
    };
    let all = server.routes.iter().filter_map(|route| {
        let owner = owner(&route.id).filter(|owner| !owner.is_of_host)?;
        Some(written(&Route::of(route), owner.written))
    });
    let mut paths: Vec<String> = all.collect();
    paths.dedup();
    // The server of all other hosts has no owner who could be told.
    let is_said = explanation.route.is_some() || !paths.is_empty();
    (is_unmatched && is_said).then_some(paths)
}

/// A path as its owner will look for it.
fn written(route: &Route, text: Option<&str>) -> String {
    match text {
        // A location has its modifier.
        Some(text) if !text.starts_with('/') => text.to_owned(),
        Some(text) => path(route, text),
        None => path(route, route.path.text()),
    }
}

/// The path of a route by a text for it, with its kind.
fn path(route: &Route, text: &str) -> String {
    let kind = match route.path {
        PathMatch::Exact(_) => "exact",
        PathMatch::Prefix(_) => "prefix",
        PathMatch::Regex(_) => "pattern",
    };
    format!("{text} ({kind})")
}

fn none_matches(paths: &[String]) -> String {
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

/// The word for the line of an annotation or of a key: settings of authentication, copies and limits have their own.
#[must_use]
pub fn setting_word(name: &str) -> &'static str {
    const WORDS: [(&str, &str); 6] = [
        ("auth-", "auth"),
        ("enable-global-auth", "auth"),
        ("global-auth-", "auth"),
        ("mirror-", "mirror"),
        ("limit-", "limit"),
        ("global-rate-limit", "limit"),
    ];
    let name = name.rsplit('/').next().unwrap_or_default();
    let found = WORDS.iter().find(|(begin, _)| name.starts_with(begin));
    found.map_or("policy", |(_, word)| *word)
}
