//! Access log service: the controller counts requests.

use envoy_types::pb::envoy::config::accesslog::v3::{AccessLog, access_log};
use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{ApiVersion, GrpcService};
use envoy_types::pb::envoy::extensions::access_loggers::grpc::v3::{
    CommonGrpcAccessLogConfig, HttpGrpcAccessLogConfig,
};
use envoy_types::pb::envoy::r#type::tracing::v3::{CustomTag, custom_tag};
use envoy_types::pb::google::protobuf::UInt32Value;

use super::proto::{any, seconds};
use crate::settings::{CONNECTING_TAG, EJECTIONS_STATE, EJECTIONS_TAG, XDS_CLUSTER};

/// Largest batch of access logs: of so much time ...
const SECONDS: i64 = 1;
/// ... and so many bytes.
const BYTES: u32 = 64 * 1024;

/// Over the connection that the configuration comes on. When the controller is away, they are lost, and no request waits.
pub(super) fn to_controller() -> AccessLog {
    let controller = EnvoyGrpc {
        cluster_name: XDS_CLUSTER.to_owned(),
        ..EnvoyGrpc::default()
    };
    let service = TargetSpecifier::EnvoyGrpc(controller);
    let common = CommonGrpcAccessLogConfig {
        log_name: "requests".to_owned(),
        grpc_service: Some(GrpcService {
            target_specifier: Some(service),
            ..GrpcService::default()
        }),
        transport_api_version: ApiVersion::V3.into(),
        buffer_flush_interval: seconds(SECONDS),
        buffer_size_bytes: Some(UInt32Value { value: BYTES }),
        custom_tags: vec![connecting(), ejections()],
        ..CommonGrpcAccessLogConfig::default()
    };
    let config = HttpGrpcAccessLogConfig {
        common_config: Some(common),
        ..HttpGrpcAccessLogConfig::default()
    };
    AccessLog {
        name: "envoy.access_loggers.http_grpc".to_owned(),
        config_type: any(config).map(access_log::ConfigType::TypedConfig),
        ..AccessLog::default()
    }
}

/// When the connection to the pod was begun, counted from the request, and how long it took. A connection that was there
/// before the request has no such beginning.
fn connecting() -> CustomTag {
    let value =
        "%COMMON_DURATION(DS_RX_BEG:US_CX_BEG:us)%/%COMMON_DURATION(US_CX_BEG:US_CX_END:us)%";
    CustomTag {
        tag: CONNECTING_TAG.to_owned(),
        r#type: Some(custom_tag::Type::Value(value.to_owned())),
    }
}

/// As the filter left them; `-` for almost all requests.
fn ejections() -> CustomTag {
    CustomTag {
        tag: EJECTIONS_TAG.to_owned(),
        r#type: Some(custom_tag::Type::Value(format!(
            "%FILTER_STATE({EJECTIONS_STATE}:PLAIN)%"
        ))),
    }
}
