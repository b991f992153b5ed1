//! Where error services are asked: a host of their own, that no client gets anything of.

use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_action::HostRewriteSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{Route, RouteMatch, VirtualHost};
use sluice_ir::{BackendId, Config, Edge, ErrorPages, Policy};

use super::location::forward;
use super::matching::is;
use crate::render::forwarded::{ASKED_HOST, BELIEVED_HOST};
use crate::settings::{ERROR_HEADER, ERROR_HOST, SCOPE_HEADER};

/// `None` when there are no error services.
pub(super) fn host(config: &Config) -> Option<VirtualHost> {
    let routes: Vec<_> = config.error_services().into_iter().map(|id| route(id, &config.edge)).collect();
    let host = || VirtualHost {
        name: ERROR_HOST.to_owned(),
        domains: vec![ERROR_HOST.to_owned()],
        routes,
        ..VirtualHost::default()
    };
    (!config.error_services().is_empty()).then(host)
}

fn route(service: &BackendId, edge: &Edge) -> Route {
    let mut action = forward(service, &Policy::default(), true);
    let host = if edge.forwarded.origin { BELIEVED_HOST } else { ASKED_HOST };
    action.host_rewrite_specifier = Some(HostRewriteSpecifier::HostRewrite(host.to_owned()));
    Route {
        name: ErrorPages::route(service),
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix("/".to_owned())),
            headers: vec![is(ERROR_HEADER, service.as_str())],
            ..RouteMatch::default()
        }),
        action: Some(RouteKind::Route(action)),
        request_headers_to_remove: vec![ERROR_HEADER.to_owned(), SCOPE_HEADER.to_owned()],
        ..Route::default()
    }
}
