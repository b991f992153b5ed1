//! Actions of routes, and where redirects lead.

use sluice_ir::{Action, BackendId, Canary, Config, HttpRoute, HttpsRedirect, RedirectTo};

use crate::canary;
use crate::explanation::{Backend, Outcome, Share};
use crate::request::Request;
use crate::value::{self, Matched};

/// The action of a route.
pub(crate) fn of_action(config: &Config, route: &HttpRoute, request: &Request) -> Outcome {
    match &route.action {
        Action::Denied => Outcome::Denied,
        Action::Respond(status) => Outcome::Respond { status: *status },
        Action::Redirect(redirect) => Outcome::Redirect {
            status: redirect.status,
            location: location(
                &redirect.to,
                &Matched::by(&route.matches.path, request),
                request,
            ),
        },
        Action::Forward(destination) => {
            let own = match &route.https_backend {
                Some(https) if request.scheme == "https" => vec![backend(config, https, 1)],
                _ => destination
                    .backends()
                    .iter()
                    .map(|weighted| backend(config, &weighted.backend, weighted.weight))
                    .collect(),
            };
            Outcome::Forward {
                path: upstream_path(route, request),
                backends: own,
                selection: canary::selection(config, route, destination.primary(), request),
                canaries: route
                    .canaries
                    .iter()
                    .map(|canary| Share {
                        backend: backend(config, of_canary(canary, request), 1),
                        rules: canary.rules.clone(),
                    })
                    .collect(),
            }
        }
    }
}

fn of_canary<'a>(canary: &'a Canary, request: &Request) -> &'a BackendId {
    let https = canary.https_backend.as_ref();
    let https = https.filter(|_| request.scheme == "https");
    https.unwrap_or(&canary.backend)
}

fn upstream_path(route: &HttpRoute, request: &Request) -> String {
    let Some(rewrite) = &route.rewrite else {
        return request.target.clone();
    };
    let matched = Matched::by(&route.matches.path, request);
    with_query(value::of_rewrite(rewrite, &matched, request), request)
}

/// A backend with its endpoints.
pub(crate) fn backend(config: &Config, id: &BackendId, weight: u32) -> Backend {
    Backend {
        id: id.to_string(),
        weight,
        settings: config.backends.get(id).cloned(),
    }
}

/// Plain http leads to https.
pub(crate) fn to_https(redirect: &HttpsRedirect, request: &Request) -> Outcome {
    let target = match redirect.keep_trailing_slash {
        true => request.target.as_str(),
        false => without_slash(&request.target),
    };
    let port = redirect.port.map(|port| format!(":{port}"));
    let location = format!(
        "https://{}{}{target}",
        request.host,
        port.unwrap_or_default()
    );
    Outcome::Redirect {
        status: redirect.status,
        location,
    }
}

/// A query ends the target, so a slash before it or in it stays.
fn without_slash(target: &str) -> &str {
    let path = target.strip_suffix('/');
    path.filter(|path| !path.contains('?')).unwrap_or(target)
}

/// The URL that a redirect names.
pub(crate) fn location(to: &RedirectTo, matched: &Matched<'_>, request: &Request) -> String {
    let written = |port: Option<u16>| port.map(|port| format!(":{port}")).unwrap_or_default();
    match to {
        RedirectTo::Url(url) => value::of_expression(url, request),
        RedirectTo::Path(path) => with_query(format!("{}{path}", request.origin()), request),
        RedirectTo::RelativePath(path) => with_query(path.clone(), request),
        RedirectTo::PathOnly(path) => format!("{}{path}", request.origin()),
        RedirectTo::Host(host) => {
            let target = without_slash(&request.target);
            let (scheme, port) = (request.told_scheme(), request.port());
            format!("{scheme}://{}:{port}{target}", host.as_str())
        }
        RedirectTo::Parts {
            scheme,
            host,
            port,
            path,
        } => {
            let port = match (port, scheme) {
                (Some(port), _) => Some(*port),
                (None, Some(_)) => None,
                (None, None) => request.port,
            };
            let scheme = scheme.map_or(request.told_scheme(), |scheme| scheme.as_str());
            let host = host
                .as_ref()
                .map_or(request.host.as_str(), |host| host.as_str());
            let path = match path {
                Some(rewrite) => value::of_rewrite(rewrite, matched, request),
                None => request.path.clone().unwrap_or_default(),
            };
            with_query(format!("{scheme}://{host}{}{path}", written(port)), request)
        }
        RedirectTo::Template {
            scheme,
            host,
            port,
            path,
        } => {
            let path = value::of_template(path, matched, request);
            with_query(
                format!("{scheme}://{host}{}{path}", written(*port)),
                request,
            )
        }
    }
}

/// A query that is there already comes first.
fn with_query(url: String, request: &Request) -> String {
    match request.query() {
        Some(query) if url.contains('?') => format!("{url}&{query}"),
        Some(query) => format!("{url}?{query}"),
        None => url,
    }
}
