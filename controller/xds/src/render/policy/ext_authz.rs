//! External authorization: the controller is asked for each request.

use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{
    ApiVersion, GrpcService, HeaderValue, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::filters::http::ext_authz::v3::ExtAuthz;
use envoy_types::pb::envoy::extensions::filters::http::ext_authz::v3::ext_authz::Services;
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::FilterChainConfigPerRoute;
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::Any;
use prost::Message;

use crate::render::proto::{any, extension, seconds};
use crate::settings::{
    AUTH_CLUSTER, CLIENT_METADATA, ISSUER_METADATA, ROUTE_METADATA, SUBJECT_METADATA,
    VERIFY_METADATA,
};

/// Longer than the timeout of an authentication service.
const TIMEOUT_SECONDS: i64 = 75;
/// Without the controller no request is allowed.
const NOT_KNOWN: i32 = 503;

/// Name of the filter in a chain of policies.
const NAME: &str = "ext_authz";

/// The same for all routes: a route has the name of its route, and says it.
pub(super) fn filter() -> TypedExtensionConfig {
    let controller = EnvoyGrpc {
        cluster_name: AUTH_CLUSTER.to_owned(),
        ..EnvoyGrpc::default()
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
        NAME,
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

/// A chain of policies whose authorization says what is known of the client certificate.
pub(in crate::render) fn telling_certificate(
    chain: &Any,
    verdict: &str,
    forwards: bool,
) -> Option<Any> {
    let is_there = verdict != "NONE";
    let names = [
        (SUBJECT_METADATA, "%DOWNSTREAM_PEER_SUBJECT%"),
        (ISSUER_METADATA, "%DOWNSTREAM_PEER_ISSUER%"),
    ];
    let names = names.into_iter().filter(|_| is_there);
    let mut chain = FilterChainConfigPerRoute::decode(chain.value.as_slice()).ok()?;
    let filters = chain.filter_chain.as_mut()?.filters.iter_mut();
    for filter in filters.filter(|filter| filter.name == NAME) {
        let config = filter.typed_config.as_ref()?;
        let mut config = ExtAuthz::decode(config.value.as_slice()).ok()?;
        // Beside the request, because metadata is limited.
        config.include_peer_certificate = is_there && forwards;
        if let Some(Services::GrpcService(service)) = &mut config.services {
            let told = [(VERIFY_METADATA, verdict)]
                .into_iter()
                .chain(names.clone());
            let told = told.map(|(key, format)| say(key, format));
            service.initial_metadata.extend(told);
        }
        *filter = extension(NAME, config);
    }
    any(chain)
}

fn say(key: &str, format: &str) -> HeaderValue {
    HeaderValue {
        key: key.to_owned(),
        value: format.to_owned(),
        ..HeaderValue::default()
    }
}
