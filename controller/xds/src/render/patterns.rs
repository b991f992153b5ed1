//! Paths whose patterns RE2 does not have: the filter compares them, and routes go by what it says.
//!
//! ```text
//!   /aa --> first route of the host --> sluice.lookup: x-sluice-pattern: TAG /(.)\1, x-sluice-group-1: a
//!       --> route of /(.)\1, by this header --> sluice.captured:group1 = a --> router
//! ```
//!
//! The first route of such a host takes every request that the filter has said nothing of, also one with something encoded
//! (`encoded.rs`), and answers 500. So no path is taken past a pattern that was not compared, whatever becomes of the filter. Where
//! it has no steps left, the request ends at the place of the pattern, as in nginx: with 500, and not behind it.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{
    DirectResponseAction, HeaderMatcher, Route, RouteMatch,
};
use sluice_filter_core::path_patterns::{exhausted, matched, route_name, tag};
use sluice_ir::{
    HttpRoute, PathMatch, PathRegex, RouteMatch as Match, Server, Template, TemplatePart,
};

use super::encoded;
use super::header::literal;
use super::route::matching::{ends, match_of, no, only_for, starts};
use crate::settings::{GROUP_HEADER, MOST_GROUPS, PATTERN_HEADER};

/// The pattern of a path, if RE2 does not have it.
pub(super) fn of(path: &PathMatch) -> Option<&PathRegex> {
    match path {
        PathMatch::Regex(regex) if regex.backtracking => Some(regex),
        PathMatch::Exact(_) | PathMatch::Prefix(_) | PathMatch::Regex(_) => None,
    }
}

/// True if a server has such paths.
pub(super) fn are_in(server: &Server) -> bool {
    server
        .routes
        .iter()
        .any(|route| of(&route.matches.path).is_some())
}

/// The first route of a host with such paths.
pub(super) fn route(server: &Server) -> Option<Route> {
    let patterns = server
        .routes
        .iter()
        .filter_map(|route| of(&route.matches.path));
    let name = are_in(server).then(|| route_name(patterns.map(|regex| regex.pattern.as_str())))?;
    let unsaid = no(starts(PATTERN_HEADER, &tag(&name)));
    Some(only_for(encoded::unresolved(name, 500), unsaid))
}

/// In the place of a path that the filter could not compare.
pub(super) fn exhausted_route(http_route: &HttpRoute) -> Option<Route> {
    let regex = of(&http_route.matches.path)?;
    let answer = DirectResponseAction {
        status: 500,
        ..DirectResponseAction::default()
    };
    let route = Route {
        name: http_route.id.as_str().to_owned(),
        r#match: Some(all_paths()),
        action: Some(Action::DirectResponse(answer)),
        ..Route::default()
    };
    Some(only_for(
        route,
        ends(PATTERN_HEADER, &exhausted(&regex.pattern)),
    ))
}

/// By what the filter has said.
pub(super) fn is_matched(regex: &PathRegex) -> HeaderMatcher {
    ends(PATTERN_HEADER, &matched(&regex.pattern))
}

fn all_paths() -> RouteMatch {
    match_of(&Match::path(PathMatch::Prefix("/".to_owned())))
}

/// The header with the capture of a group.
pub(super) fn group_header(group: u8) -> String {
    format!("{GROUP_HEADER}{group}")
}

/// A text with groups, as a format, while the headers of the filter are there.
pub(super) fn format_from_headers(template: &Template) -> String {
    let parts = template.0.iter().map(|part| match part {
        TemplatePart::Text(text) => literal(text),
        TemplatePart::Group(group) => format!("%REQ({})%", group_header(*group)),
        // No URL has it: translation reports that.
        TemplatePart::Host => String::new(),
    });
    parts.collect()
}

/// Headers of the filter, which pods do not see.
pub(super) fn hidden() -> impl Iterator<Item = String> {
    let groups = (1..=MOST_GROUPS).map(group_header);
    groups.chain([PATTERN_HEADER.to_owned()])
}
