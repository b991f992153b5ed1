//! One location: the routes that Envoy needs for it. The first that matches is taken, and all have the location's name.

use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_action::{ClusterSpecifier, HostRewriteSpecifier};
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, Route, RouteAction};
use sluice_ir::{Action, BackendId, Edge, Location, Policy, ServerName, Timeouts};

use super::matching::{match_of, matches, only_for};
use super::{redirect, retry};
use crate::render::forwarded::BELIEVED_HOST;
use crate::render::header::{literal, set};
use crate::render::wire::seconds;

pub(super) fn routes(location: &Location, server: &ServerName, edge: &Edge) -> Vec<Route> {
    let route = Route {
        name: location.id.as_str().to_owned(),
        r#match: Some(match_of(&location.path)),
        ..Route::default()
    };
    match &location.action {
        Action::Forward(backend) => {
            let https = location.https.iter().flat_map(|https| redirect::to_https(&route, https, server));
            https.chain(forwarding(&route, location, backend, edge)).collect()
        }
        Action::Denied => {
            let denied = DirectResponseAction { status: 503, ..DirectResponseAction::default() };
            vec![Route { action: Some(RouteKind::DirectResponse(denied)), ..route }]
        }
        Action::Redirect(redirect) => redirect::routes(&route, location, redirect),
    }
}

fn forwarding(route: &Route, location: &Location, backend: &BackendId, edge: &Edge) -> Vec<Route> {
    let forwarding = |idempotent| {
        let mut action = forward(backend, &location.policy, idempotent);
        action.host_rewrite_specifier = host(edge);
        let mut route = route.clone();
        if let Some(template) = &location.rewrite {
            action.regex_rewrite = redirect::substitution(&location.path, template);
            let prefix = location.policy.forwarded_prefix.iter();
            route
                .request_headers_to_add
                .extend(prefix.map(|prefix| set("x-forwarded-prefix", &literal(prefix))));
        }
        Route { action: Some(RouteKind::Route(action)), ..route }
    };
    if retry::differs_by_method(&location.policy.retries) {
        let once = only_for(forwarding(false), matches(":method", retry::NOT_IDEMPOTENT));
        vec![once, forwarding(true)]
    } else {
        vec![forwarding(true)]
    }
}

/// The `Host` that pods see: what is in front may say another one than the one that was asked for.
fn host(edge: &Edge) -> Option<HostRewriteSpecifier> {
    edge.forwarded.origin.then(|| HostRewriteSpecifier::HostRewrite(BELIEVED_HOST.to_owned()))
}

fn forward(id: &BackendId, policy: &Policy, idempotent: bool) -> RouteAction {
    RouteAction {
        cluster_specifier: Some(ClusterSpecifier::Cluster(id.as_str().to_owned())),
        // nginx limits the time between two reads, not the whole answer.
        timeout: seconds(0),
        idle_timeout: seconds(idle_timeout(policy)),
        retry_policy: Some(retry::policy(&policy.retries, &policy.timeouts, idempotent)),
        ..RouteAction::default()
    }
}

/// Longer than all attempts together, each of which has a limit of its own: this one is for clients.
fn idle_timeout(policy: &Policy) -> i64 {
    let Timeouts { send, read } = policy.timeouts;
    i64::from(send.max(read)) * i64::from(policy.retries.attempts.get()) + 1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{PathMatch, Redirect, RedirectTo};

    use super::*;

    fn routes_for(action: Action) -> Vec<Route> {
        let path = PathMatch::Prefix("/".to_owned());
        routes(
            &Location::new(&ServerName::CatchAll, path, action, Arc::default()),
            &ServerName::CatchAll,
            &Edge::default(),
        )
    }

    #[test]
    fn what_cannot_be_repeated_without_harm_has_a_route_of_its_own() {
        let routes = routes_for(Action::Forward(BackendId::new("default", "shop", 80)));
        let [post, get] = routes.as_slice() else { panic!("{routes:?}") };
        assert_eq!(post.name, get.name);
        let retry_on = |route: &Route| match &route.action {
            Some(RouteKind::Route(action)) => action.retry_policy.clone().unwrap().retry_on,
            other => panic!("{other:?}"),
        };
        assert!(retry_on(get).ends_with(",reset") && !retry_on(post).ends_with(",reset"));
        assert_eq!(post.r#match.as_ref().unwrap().headers, [matches(":method", "POST|LOCK|PATCH")]);
    }

    #[test]
    fn denied_is_503_and_a_redirect_is_its_status() {
        let action = |action| routes_for(action).remove(0).action.unwrap();
        let RouteKind::DirectResponse(denied) = action(Action::Denied) else { panic!("no response") };
        assert_eq!(denied.status, 503);
        let redirect = Redirect { status: 304, to: RedirectTo::Url("/b".into()) };
        let RouteKind::DirectResponse(moved) = action(Action::Redirect(redirect)) else {
            panic!("no response")
        };
        assert_eq!(moved.status, 304);
    }
}
