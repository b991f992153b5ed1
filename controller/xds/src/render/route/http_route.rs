//! One route: the routes that Envoy needs for it. The first that matches is taken, and all have the route's name.

use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_action::{
    ClusterSpecifier, HostRewriteSpecifier,
};
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, Route, RouteAction};
use sluice_ir::{
    Action, BackendId, Canary, Destination, ErrorRequest, GlobalConfig, HttpRoute, PathRewrite,
    Policy, ServerName,
};

use super::conditional_route::conditional_routes;
use super::matching::{handshakes, is, match_of, named, no, only_for, only_over_tls, spoken};
use super::mirrors::copies;
use super::{cors, direct_response, log_metadata, redirect, retry, rewrite};
use crate::BACKEND_HEADER;
use crate::render::encoded::SENT;
use crate::render::format::format;
use crate::render::forwarded::BELIEVED_HOST;
use crate::render::header::{self, set, set_header};
use crate::render::patterns;
use crate::render::policy::captured;
use crate::render::proto::seconds;
use crate::render::tracing;
use crate::render::{policy, request_headers};

pub(super) fn routes(
    http_route: &HttpRoute,
    server: &ServerName,
    global: &GlobalConfig,
) -> Vec<Route> {
    let route = Route {
        name: http_route.id.as_str().to_owned(),
        r#match: Some(match_of(&http_route.matches)),
        metadata: log_metadata::of_route(http_route, http_route.primary_backend()),
        tracing: tracing::of_route(&http_route.policy.tracing, global),
        ..Route::default()
    };
    match &http_route.action {
        Action::Forward(to) => {
            in_order(&route, http_route, (server, global), |route, http_route| {
                to_backends(route, http_route, to, server, global)
            })
        }
        Action::Denied => {
            let denied = DirectResponseAction {
                status: 503,
                ..DirectResponseAction::default()
            };
            vec![Route {
                action: Some(RouteKind::DirectResponse(denied)),
                ..route
            }]
        }
        Action::Redirect(redirect) => {
            in_order(&route, http_route, (server, global), |route, http_route| {
                let mut answering = answering(route, http_route, global);
                let policies = policy::of_redirect(&http_route.policy, global);
                answering.typed_per_filter_config.extend(policies);
                redirect::routes(&answering, http_route, redirect, (server, global))
            })
        }
        Action::Respond(status) => {
            in_order(&route, http_route, (server, global), |route, http_route| {
                respond(route, http_route, *status, server, global)
            })
        }
    }
}

/// Redirect of plain http, when it is not served.
pub(super) fn to_https(
    http_route: &HttpRoute,
    server: &ServerName,
    global: &GlobalConfig,
) -> Vec<Route> {
    let route = Route {
        name: http_route.id.as_str().to_owned(),
        r#match: Some(match_of(&http_route.matches)),
        tracing: tracing::of_route(&http_route.policy.tracing, global),
        ..Route::default()
    };
    let answering = answering(
        &with_response_headers(&route, &http_route.policy),
        http_route,
        global,
    );
    let redirects = https_redirects(&answering, http_route, (server, global));
    match &http_route.policy.cors {
        Some(cors) if !redirects.is_empty() => {
            cors::routes(redirects, &only_for(answering, spoken("http")), cors)
        }
        _ => redirects,
    }
}

/// At the names of the server that the redirect is for.
fn https_redirects(
    answering: &Route,
    http_route: &HttpRoute,
    (server, global): (&ServerName, &GlobalConfig),
) -> Vec<Route> {
    let https = http_route.https_redirect.iter();
    let redirects = https.flat_map(|https| redirect::to_https(answering, https, (server, global)));
    let plain = http_route.plain_http_at.iter();
    let not_plain: Vec<_> = plain.map(|name| no(named(name))).collect();
    let redirects = redirects.map(|route| not_plain.iter().cloned().fold(route, only_for));
    redirects.collect()
}

/// A route for what the data plane answers itself: with the response headers that the pods' answers have, as in nginx.
fn answering(route: &Route, http_route: &HttpRoute, global: &GlobalConfig) -> Route {
    let mut route = route.clone();
    header::modify_response(&mut route, global, || http_route.filters.iter());
    route
}

/// In nginx's order: direct responses of the server, what CORS asks, other direct responses, then the action.
fn in_order(
    route: &Route,
    http_route: &HttpRoute,
    (server, global): (&ServerName, &GlobalConfig),
    act: impl Fn(&Route, &HttpRoute) -> Vec<Route>,
) -> Vec<Route> {
    let policy = &http_route.policy;
    let route = with_response_headers(route, policy);
    let (mut first, mut routes) = direct_response::routes(&route, http_route, (server, global));
    for conditional in conditional_routes(http_route) {
        let all = act(&route, &conditional.route);
        routes.extend(direct_response::only_where(all, conditional.conditions).unwrap_or_default());
    }
    routes.extend(act(&route, http_route));
    first.extend(match &policy.cors {
        Some(cors) => cors::routes(routes, &answering(&route, http_route, global), cors),
        None => routes,
    });
    first
}

/// To https, and to the backends.
fn to_backends(
    route: &Route,
    http_route: &HttpRoute,
    to: &Destination,
    server: &ServerName,
    global: &GlobalConfig,
) -> Vec<Route> {
    let answering = answering(route, http_route, global);
    let mut routes = https_redirects(&answering, http_route, (server, global));
    let to_alternative =
        |chosen, backend| to_alternative(route, http_route, (chosen, backend), (server, global));
    for Canary {
        backend,
        https_backend,
        ..
    } in &http_route.canaries
    {
        let https = https_backend.iter();
        let https = https.flat_map(|https| to_alternative(backend, https));
        routes.extend(https.map(|route| only_over_tls(route, &global.forwarded)));
        routes.extend(to_alternative(backend, backend));
    }
    let alternatives = to.alternatives().iter().map(|weighted| &weighted.backend);
    routes.extend(alternatives.flat_map(|backend| to_alternative(backend, backend)));
    if let Some(backend) = &http_route.https_backend {
        let route = Route {
            metadata: log_metadata::of_route(http_route, Some(backend)),
            ..route.clone()
        };
        let https = upstream_routes(&route, http_route, backend, (server, global)).into_iter();
        routes.extend(https.map(|route| only_over_tls(route, &global.forwarded)));
    }
    let primary = upstream_routes(route, http_route, to.primary(), (server, global));
    routes.extend(primary);
    routes
}

/// To https, and the status.
fn respond(
    route: &Route,
    http_route: &HttpRoute,
    status: u16,
    server: &ServerName,
    global: &GlobalConfig,
) -> Vec<Route> {
    let mut route = answering(route, http_route, global);
    let mut routes = https_redirects(&route, http_route, (server, global));
    let response = DirectResponseAction {
        status: status.into(),
        ..DirectResponseAction::default()
    };
    let policies = policy::per_route(http_route, global, false);
    route.typed_per_filter_config.extend(policies);
    routes.push(Route {
        action: Some(RouteKind::DirectResponse(response)),
        ..route
    });
    routes
}

fn with_response_headers(route: &Route, policy: &Policy) -> Route {
    let headers = policy
        .response_headers
        .iter()
        .map(|header| set(header.name.as_str(), &format(&header.value)));
    Route {
        response_headers_to_add: headers.collect(),
        ..route.clone()
    }
}

/// Only the filter sends a request to another backend than the primary one, and then the route is looked up again. `chosen`: the
/// backend as the filter knows it.
fn to_alternative(
    route: &Route,
    http_route: &HttpRoute,
    (chosen, backend): (&BackendId, &BackendId),
    of: (&ServerName, &GlobalConfig),
) -> Vec<Route> {
    let chosen = || is(BACKEND_HEADER, chosen.as_str());
    let routes = upstream_routes(route, http_route, backend, of).into_iter();
    routes.map(|route| only_for(route, chosen())).collect()
}

fn upstream_routes(
    route: &Route,
    http_route: &HttpRoute,
    backend: &BackendId,
    (server, global): (&ServerName, &GlobalConfig),
) -> Vec<Route> {
    let policy = &http_route.policy;
    let own = http_route.destination().map(|to| to.filters(backend));
    let filters = || http_route.filters.iter().chain(own.unwrap_or_default());
    let has_pattern = patterns::of(&http_route.matches.path).is_some();
    let forwarding = |idempotent, is_handshake| {
        let mut route = route.clone();
        let mut action = forward(backend, (policy, global), idempotent);
        action.request_mirror_policies = copies(policy, server);
        action.retry_policy = action
            .retry_policy
            .map(|policy| retry::unless_looped(policy, global));
        action.host_rewrite_specifier = host_of_pods(policy, global);
        match &http_route.rewrite {
            Some(PathRewrite::Template(to)) if to.has_host() || has_pattern => {
                action.path_rewrite = captured::path(to, has_pattern);
            }
            Some(rewrite) => {
                action.regex_rewrite = rewrite::regex_rewrite(&http_route.matches.path, rewrite);
            }
            None => action.path_rewrite = SENT.to_owned(),
        }
        add_upstream_headers(&mut route, http_route);
        header::modify(&mut route, global, filters);
        route
            .request_headers_to_remove
            .extend(request_headers::removed(global, policy));
        let policies = policy::per_route(http_route, global, is_handshake);
        route.typed_per_filter_config.extend(policies);
        Route {
            action: Some(RouteKind::Route(action)),
            request_body_buffer_limit: retry::body_buffer(policy, global),
            ..route
        }
    };
    let mut routes = Vec::new();
    if policy::has_own_limit(policy, global.max_body_size) {
        let begins =
            |handshake: [_; 3]| handshake.into_iter().fold(forwarding(true, true), only_for);
        routes.extend(handshakes().map(begins));
    }
    let differs = retry::differs_by_method(&policy.retries);
    if differs {
        // First what is asked for most.
        routes.push(retry::idempotent().fold(forwarding(true, false), only_for));
    }
    routes.push(forwarding(!differs, false));
    routes
}

fn add_upstream_headers(route: &mut Route, http_route: &HttpRoute) {
    let policy = &http_route.policy;
    captured::set_prefix(route, http_route);
    let mut add = |name: &str, format: &str| route.request_headers_to_add.push(set(name, format));
    if let Some(connection) = &policy.connection {
        add("connection", connection);
    }
    if let Some(ErrorRequest { status, headers }) = http_route.error_request.as_deref() {
        add("x-code", &status.to_string());
        add("x-format", "%REQ(accept)%");
        route
            .request_headers_to_add
            .extend(headers.iter().map(set_header));
    }
    // With authentication, the authorization response sets or removes these headers.
    if policy.authentication.is_none() {
        route.request_headers_to_remove.extend(
            policy
                .auth_headers
                .iter()
                .map(|name| name.as_str().to_owned()),
        );
    }
}

/// The `Host` that pods see: what is in front may say another one than the one that was asked for.
fn host_of_pods(policy: &Policy, global: &GlobalConfig) -> Option<HostRewriteSpecifier> {
    match policy.host.as_ref().or(global.host.as_ref()) {
        Some(host) => Some(HostRewriteSpecifier::HostRewrite(format(host))),
        None => global
            .forwarded
            .trust_forwarded
            .then(|| HostRewriteSpecifier::HostRewrite(BELIEVED_HOST.to_owned())),
    }
}

pub(super) fn forward(
    id: &BackendId,
    (policy, global): (&Policy, &GlobalConfig),
    idempotent: bool,
) -> RouteAction {
    RouteAction {
        cluster_specifier: Some(ClusterSpecifier::Cluster(id.as_str().to_owned())),
        // nginx limits the time between two reads, not the whole answer.
        timeout: seconds(0),
        idle_timeout: seconds(retry::idle_timeout(policy, global)),
        retry_policy: Some(retry::policy(&policy.retries, &policy.timeouts, idempotent)),
        ..RouteAction::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{PathMatch, Redirect, RedirectTo};

    use super::super::matching::is_not;
    use super::*;

    fn routes_for(action: Action) -> Vec<Route> {
        let path = PathMatch::Prefix("/".to_owned());
        let http_route = HttpRoute::new(&ServerName::CatchAll, path, action, Arc::default());
        routes(&http_route, &ServerName::CatchAll, &GlobalConfig::default())
    }

    #[test]
    fn what_cannot_be_repeated_without_harm_has_a_route_of_its_own() {
        let routes = routes_for(Action::to(BackendId::new("default/shop/80")));
        let [get, post] = routes.as_slice() else {
            panic!("{routes:?}")
        };
        assert_eq!(post.name, get.name);
        let retry_on = |route: &Route| match &route.action {
            Some(RouteKind::Route(action)) => action.retry_policy.clone().unwrap().retry_on,
            other => panic!("{other:?}"),
        };
        assert!(retry_on(get).ends_with(",reset") && !retry_on(post).ends_with(",reset"));
        let headers = |route: &Route| route.r#match.clone().unwrap().headers;
        assert_eq!(
            headers(get),
            ["POST", "LOCK", "PATCH"].map(|method| is_not(":method", method))
        );
        assert_eq!(headers(post), []);
    }

    #[test]
    fn denied_is_503_and_a_redirect_is_its_status() {
        let action = |action| routes_for(action).remove(0).action.unwrap();
        let RouteKind::DirectResponse(denied) = action(Action::Denied) else {
            panic!("no response")
        };
        assert_eq!(denied.status, 503);
        let redirect = Redirect {
            status: 304,
            to: RedirectTo::Url(sluice_ir::Expression::literal("/b")),
        };
        let RouteKind::DirectResponse(moved) = action(Action::Redirect(Box::new(redirect))) else {
            panic!("no response")
        };
        assert_eq!(moved.status, 304);
    }
}
