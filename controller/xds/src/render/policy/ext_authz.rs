//! External authorization: the controller is asked for each request.

use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{
    ApiVersion, GrpcService, HeaderValue, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::filters::http::ext_authz::v3::ExtAuthz;
use envoy_types::pb::envoy::extensions::filters::http::ext_authz::v3::ext_authz::Services;
use envoy_types::pb::envoy::r#type::v3::HttpStatus;

use crate::render::proto::{extension, seconds};
use crate::settings::{AUTH_CLUSTER, CLIENT_METADATA, ROUTE_METADATA};

/// Longer than the timeout of an authentication service.
const TIMEOUT_SECONDS: i64 = 75;
/// Without the controller no request is allowed.
const NOT_KNOWN: i32 = 503;

/// The same for all routes: a route has the name of its route, and says it.
pub(super) fn filter() -> TypedExtensionConfig {
    let controller = EnvoyGrpc {
        cluster_name: AUTH_CLUSTER.to_owned(),
        ..EnvoyGrpc::default()
    };
    let say = |key: &str, format: &str| HeaderValue {
        key: key.to_owned(),
        value: format.to_owned(),
        ..HeaderValue::default()
    };
    let service = GrpcService {
        target_specifier: Some(TargetSpecifier::EnvoyGrpc(controller)),
        timeout: seconds(TIMEOUT_SECONDS),
        initial_metadata: vec![
            say(ROUTE_METADATA, "%ROUTE_NAME%"),
            // Who it is after headers are believed; what the filter says itself is who has connected.
            say(CLIENT_METADATA, "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
        ],
        ..GrpcService::default()
    };
    extension(
        "ext_authz",
        ExtAuthz {
            services: Some(Services::GrpcService(service)),
            transport_api_version: ApiVersion::V3.into(),
            failure_mode_allow: false,
            status_on_error: Some(HttpStatus { code: NOT_KNOWN }),
            encode_raw_headers: true,
            ..ExtAuthz::default()
        },
    )
}
