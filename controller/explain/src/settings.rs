//! Everything that applies to a route whatever the request, by name; and where its redirect leads.

use sluice_ir::{Filter, HttpRoute, PathRewrite, RedirectTo, ResponseContent, Server, Template};

use crate::explanation::Route;
use crate::headers;
use crate::lines::json;

/// Policies of a route, its headers, responses and rewrites, and what its host adds; by name.
#[must_use]
pub fn settings(server: &Server, route: &HttpRoute) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Route::of(route)
        .policies
        .into_iter()
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    let mut add = |name: &str, value: String| settings.push((name.to_owned(), value));
    for filter in &route.filters {
        let name = match filter {
            Filter::RequestHeaders(_) => "request headers",
            Filter::ResponseHeaders(_) => "response headers",
        };
        headers::of_filter(filter)
            .into_iter()
            .for_each(|change| add(name, change));
    }
    for change in route.header_variants.iter().flat_map(headers::of_variant) {
        add("response headers", change);
    }
    for response in &route.direct_responses {
        add("response", json(response));
    }
    if let Some(redirect) = &route.https_redirect {
        add("redirect to https", redirect.status.to_string());
    }
    if let Some(rewrite) = &route.rewrite {
        add("rewrite", path(rewrite));
    }
    if let Some(prefix) = &route.forwarded_prefix {
        add("X-Forwarded-Prefix", text(prefix));
    }
    if let Some(pages) = &route.error_pages {
        add("error pages", json(pages));
    }
    if let Some(app_root) = &server.app_root {
        add("app root", format!("/ redirects to {app_root}"));
    }
    settings
}

/// The response of a snippet that every request of a route gets, in place of its action.
#[must_use]
pub fn response_to_all(route: &HttpRoute) -> Option<String> {
    let mut responses = route.direct_responses.iter();
    let response = responses.find(|response| response.conditions.is_empty())?;
    match &response.content {
        ResponseContent::Page | ResponseContent::Text { .. } => Some(response.status.to_string()),
        ResponseContent::Location(url) => Some(format!("{} to {url}", response.status)),
        ResponseContent::Rewritten { .. } | ResponseContent::Captured(_) => None,
    }
}

/// The URL that a redirect names, with variables for what is the request's.
#[must_use]
pub fn target(to: &RedirectTo) -> String {
    let port = |port: &Option<u16>| port.map(|port| format!(":{port}")).unwrap_or_default();
    match to {
        RedirectTo::Url(url) => url.to_string(),
        RedirectTo::Path(path) | RedirectTo::RelativePath(path) | RedirectTo::PathOnly(path) => {
            path.clone()
        }
        RedirectTo::Host(host) => format!("$scheme://{}$request_uri", host.as_str()),
        RedirectTo::Parts {
            scheme,
            host,
            port: named,
            path: rewrite,
        } => {
            let scheme = scheme.map_or("$scheme", |scheme| scheme.as_str());
            let host = host.as_ref().map_or("$host", |host| host.as_str());
            let path = rewrite.as_ref().map_or("$uri".to_owned(), path);
            format!("{scheme}://{host}{}{path}", port(named))
        }
        RedirectTo::Template {
            scheme,
            host,
            port: named,
            path,
        } => format!("{scheme}://{host}{}{}", port(named), text(path)),
    }
}

fn path(rewrite: &PathRewrite) -> String {
    match rewrite {
        PathRewrite::Template(template) => text(template),
        PathRewrite::Full { full } => full.clone(),
        PathRewrite::Prefix { prefix } => format!("{prefix} in place of the prefix"),
    }
}

/// With `$1` for a group.
fn text(template: &Template) -> String {
    let value = serde_json::to_value(template).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
