//! Web application firewall: the controller's process with the engine looks at requests and responses (ext_proc).

use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{
    GrpcService, HeaderValue, RetryPolicy, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::processing_mode::{
    BodySendMode, HeaderSendMode,
};
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::{
    ExternalProcessor, ProcessingMode,
};
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::BoolValue;
use sluice_ir::{GlobalConfig, Policy};

use crate::firewall::RuleSet;
use crate::render::format::format;
use crate::render::proto::{extension, number, seconds};
use crate::settings::{
    CLIENT_METADATA, FIREWALL_CLUSTER, PROTOCOL_METADATA, RULES_METADATA, SERVER_METADATA,
    TRANSACTION_METADATA,
};

/// For one phase. Rules may take long for a large body; nginx has no limit.
const TIMEOUT_SECONDS: i64 = 60;
/// Without the firewall no request is let through.
const NOT_KNOWN: i32 = 503;

/// In a chain of policies.
pub(super) const NAME: &str = "firewall";

/// Names the rules, which the process has before routes name them.
pub(super) fn filter(policy: &Policy, global: &GlobalConfig) -> Option<TypedExtensionConfig> {
    let waf = policy.waf.as_ref()?;
    let rules = RuleSet::new(waf, global.waf.as_ref());
    let mut told = vec![
        (RULES_METADATA, rules.name()),
        // Who it is after headers are believed.
        (CLIENT_METADATA, "%DOWNSTREAM_REMOTE_ADDRESS%".to_owned()),
        (SERVER_METADATA, "%DOWNSTREAM_LOCAL_ADDRESS%".to_owned()),
        (PROTOCOL_METADATA, "%PROTOCOL%".to_owned()),
    ];
    let id = waf.transaction_id.as_ref();
    told.extend(id.map(|id| (TRANSACTION_METADATA, format(id))));
    let header = |(key, value): (&str, String)| HeaderValue {
        key: key.to_owned(),
        value,
        ..HeaderValue::default()
    };
    let process = EnvoyGrpc {
        cluster_name: FIREWALL_CLUSTER.to_owned(),
        ..EnvoyGrpc::default()
    };
    // A name may have an address that nobody listens on.
    let retry = RetryPolicy {
        retry_on: "connect-failure".to_owned(),
        num_retries: number(2),
        ..RetryPolicy::default()
    };
    let service = GrpcService {
        target_specifier: Some(TargetSpecifier::EnvoyGrpc(process)),
        retry_policy: Some(retry),
        initial_metadata: told.into_iter().map(header).collect(),
        ..GrpcService::default()
    };
    let processor = ExternalProcessor {
        grpc_service: Some(service),
        failure_mode_allow: false,
        status_on_error: Some(HttpStatus { code: NOT_KNOWN }),
        processing_mode: Some(mode(&rules)),
        // Handshakes have no body, and only some responses have one that rules look at.
        allow_mode_override: true,
        message_timeout: seconds(TIMEOUT_SECONDS),
        emit_client_span: Some(BoolValue { value: false }),
        ..ExternalProcessor::default()
    };
    Some(extension(NAME, processor))
}

/// Bytes of a body that are kept until the firewall has seen them: more than it looks at, so that what it gets of a longer one is
/// too long for it.
pub(in crate::render) fn inspected_body(policy: &Policy, global: &GlobalConfig) -> Option<u64> {
    let rules = RuleSet::new(policy.waf.as_ref()?, global.waf.as_ref());
    rules.request_body.map(|limit| limit + 1)
}

fn mode(rules: &RuleSet) -> ProcessingMode {
    let body = match rules.request_body {
        Some(_) => BodySendMode::BufferedPartial,
        None => BodySendMode::None,
    };
    ProcessingMode {
        request_header_mode: HeaderSendMode::Send.into(),
        response_header_mode: HeaderSendMode::Send.into(),
        request_body_mode: body.into(),
        ..ProcessingMode::default()
    }
}
