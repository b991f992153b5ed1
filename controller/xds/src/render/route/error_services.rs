//! Routes to error services: a virtual host of their own, which no client reaches.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::route::v3::route::Action as RouteKind;
use envoy_types::pb::envoy::config::route::v3::route_action::HostRewriteSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{FilterConfig, Route, RouteMatch, VirtualHost};
use envoy_types::pb::google::protobuf::Any;
use sluice_ir::{BackendId, Config, GlobalConfig, Policy, RouteId};

use super::http_route::forward;
use super::matching::is;
use crate::render::format::format;
use crate::render::header::set;
use crate::render::proto::any;
use crate::render::{LOOP_FILTER, forwarded, request_headers};
use crate::settings::{CHALLENGE_HEADER, ERROR_HEADER, ERROR_HOST, SCOPE_HEADER};

/// The header has the host that clients asked for, whoever made the error.
const HEADERS_HOST: &str = "%REQ(x-forwarded-host)%";

/// `None` when there are no error services.
pub(super) fn host(config: &Config) -> Option<VirtualHost> {
    let routes: Vec<_> = config
        .error_services()
        .into_iter()
        .map(|id| route(id, &config.global))
        .collect();
    let (request_headers_to_remove, chain) = forwarded::of_host(&config.global.forwarded);
    let added = request_headers::of_host(&config.global).into_iter();
    let host = || VirtualHost {
        name: ERROR_HOST.to_owned(),
        domains: vec![ERROR_HOST.to_owned()],
        routes,
        request_headers_to_add: added.chain(chain).collect(),
        request_headers_to_remove,
        typed_per_filter_config: unmarked(),
        ..VirtualHost::default()
    };
    (!config.error_services().is_empty()).then(host)
}

/// The request is the same one, which has its mark.
fn unmarked() -> HashMap<String, Any> {
    let off = any(FilterConfig {
        disabled: true,
        ..FilterConfig::default()
    });
    off.map(|off| (LOOP_FILTER.to_owned(), off))
        .into_iter()
        .collect()
}

fn route(service: &BackendId, global: &GlobalConfig) -> Route {
    let nobodys = Policy::default();
    let mut action = forward(service, (&nobodys, global), true);
    let own = [ERROR_HEADER, SCOPE_HEADER].into_iter().map(str::to_owned);
    let host = match &global.host {
        Some(host) => format(host),
        None => HEADERS_HOST.to_owned(),
    };
    action.host_rewrite_specifier = Some(HostRewriteSpecifier::HostRewrite(host));
    Route {
        name: RouteId::error_service(service).as_str().to_owned(),
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix("/".to_owned())),
            headers: vec![is(ERROR_HEADER, service.as_str())],
            ..RouteMatch::default()
        }),
        action: Some(RouteKind::Route(action)),
        request_headers_to_remove: own
            .chain(request_headers::removed(global, &nobodys))
            .collect(),
        response_headers_to_add: vec![challenge()],
        ..Route::default()
    }
}

/// As nginx, which keeps it beside a page in place of the answer.
fn challenge() -> HeaderValueOption {
    HeaderValueOption {
        append_action: HeaderAppendAction::AppendIfExistsOrAdd.into(),
        ..set("www-authenticate", &format!("%REQ({CHALLENGE_HEADER})%"))
    }
}
