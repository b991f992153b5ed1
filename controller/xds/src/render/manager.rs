//! The HTTP connection manager of a listener: what a request goes through.

use envoy_types::pb::envoy::config::accesslog::v3::AccessLog;
use envoy_types::pb::envoy::config::core::v3::http_protocol_options::HeadersWithUnderscoresAction;
use envoy_types::pb::envoy::config::core::v3::{
    CidrRange, ExtensionConfigSource, Http1ProtocolOptions, Http2ProtocolOptions, HttpProtocolOptions,
};
use envoy_types::pb::envoy::extensions::filters::http::cdn_loop::v3::CdnLoopConfig;
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::{
    CodecType, InternalAddressConfig, PathWithEscapedSlashesAction, ServerHeaderTransformation, UpgradeConfig,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter,
};
use envoy_types::pb::envoy::extensions::http::early_header_mutation::header_mutation::v3::HeaderMutation as EarlyMutation;
use envoy_types::pb::google::protobuf::BoolValue;
use prost::{Message, Name};
use sluice_ir::{ClientValidation, GlobalConfig, HeaderBuffers, Http, MAX_LOOPS};

use super::header::{append, literal, set};
use super::policy::upgrades::PROTOCOLS;
use super::proto::{ads_awaited, any, extension, number, seconds, yes};
use super::{
    Discovery, FILTER, LOOKUP_FILTER, LOOP_FILTER, access_log, access_log_service, compress,
    encoded, forwarded, header_case, hidden_headers, hsts, local_reply, policy, replaced_headers,
    request_headers, route_specifier, tracing,
};
use crate::Settings;
use crate::settings::{SUBJECT_HEADER, TRUST_HEADER};

/// More than fit into the size that headers may have.
pub(super) const MAX_HEADERS: u32 = 16 * 1024;
/// Envoy's advice for an edge: what one client can make Envoy hold.
const HTTP2_STREAM_WINDOW: u32 = 64 * 1024;
const HTTP2_CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Protocol of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The port that clients know it by, whatever is listened on.
    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Settings that the connection managers of a listener share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front<'a> {
    pub(super) scheme: Scheme,
    pub(super) global: &'a GlobalConfig,
    pub(super) settings: &'a Settings,
    pub(super) discovery: Discovery,
    /// Name of the route configuration, where there is one table.
    pub(super) routes: &'a str,
}

/// The name is for statistics.
pub(super) fn manager(
    name: &str,
    clients: Option<&ClientValidation>,
    front: &Front<'_>,
) -> HttpConnectionManager {
    let Front {
        scheme,
        global,
        settings,
        discovery,
        routes,
    } = *front;
    let detection = forwarded::original_ip_detection(&global.forwarded);
    let mut mutations = forwarded::early_header_mutations(global, scheme.port());
    mutations.extend(request_headers::copies(global));
    if let Some(trust) = clients {
        mutations.push(append(set(TRUST_HEADER, &literal(&trust_name(trust)))));
        mutations.push(append(set(SUBJECT_HEADER, "%DOWNSTREAM_PEER_SUBJECT%")));
    }
    mutations.extend(tracing::early_header_mutations(global));
    mutations.extend(route_specifier::before_routes(discovery));
    let early = EarlyMutation { mutations };
    HttpConnectionManager {
        stat_prefix: name.to_owned(),
        codec_type: if global.http.http2 {
            CodecType::Auto
        } else {
            CodecType::Http1
        }
        .into(),
        route_specifier: Some(route_specifier::specifier(discovery, routes)),
        http_filters: filters(front),
        access_log: access_logs(global, settings),
        upgrade_configs: upgrades(),
        early_header_mutation_extensions: vec![extension(
            "envoy.http.early_header_mutation.header_mutation",
            early,
        )],
        use_remote_address: Some(BoolValue {
            value: detection.is_none(),
        }),
        original_ip_detection_extensions: detection.into_iter().collect(),
        forward_proto_config: forwarded::proto_by_port(&global.forwarded),
        generate_request_id: Some(BoolValue {
            value: global.generate_request_id,
        }),
        request_id_extension: global.tracing.as_ref().map(|_| tracing::request_ids()),
        tracing: global.tracing.as_ref().map(tracing::tracing),
        ..protocol(global, hardened())
    }
}

/// Trust that a client certificate was verified against, for the routes.
pub(super) fn trust_name(trust: &ClientValidation) -> String {
    format!("{} {}", trust.ca.as_str(), trust.depth)
}

/// They have the filters of all requests: each of ours costs Envoy milliseconds for every listener and every host with TLS of its
/// own, so there is one chain of them and not two.
fn upgrades() -> Vec<UpgradeConfig> {
    let upgrade = |name: &str| UpgradeConfig {
        upgrade_type: name.to_owned(),
        ..UpgradeConfig::default()
    };
    PROTOCOLS.map(upgrade).into()
}

fn filters(front: &Front<'_>) -> Vec<HttpFilter> {
    let Front {
        scheme,
        global,
        settings,
        discovery,
        routes: _,
    } = *front;
    // A route switches it on where routes are known from the beginning.
    let unless_known = |filter| HttpFilter {
        disabled: discovery == Discovery::Table,
        ..filter
    };
    let mut filters = Vec::new();
    if (settings.access_log && !global.log.requests.off) || global.tracing.is_some() {
        filters.push(filter(
            access_log::LOG_METADATA,
            access_log::request_metadata(&global.log),
        ));
    }
    filters.push(filter(LOOP_FILTER, loops(global)));
    // Before all that a route decides about.
    filters.push(unless_known(discovered_filter(LOOKUP_FILTER)));
    filters.push(unless_known(filter(LOOKUP_FILTER, encoded::kept())));
    let compressors = compress::filters(&global.compression).into_iter();
    filters.extend(compressors.map(|compressor| HttpFilter {
        name: compressor.name,
        config_type: compressor.typed_config.map(ConfigType::TypedConfig),
        ..HttpFilter::default()
    }));
    // Of responses the last of these comes first.
    if let (Scheme::Https, Some(value)) = (scheme, &global.hsts) {
        filters.push(filter(hsts::FILTER, hsts::of_all(value)));
    }
    filters.push(unless_known(filter(
        replaced_headers::FILTER,
        replaced_headers::of_all(),
    )));
    filters.push(filter("sluice.hidden", hidden_headers::of_upgrades(global)));
    if global.forwarded.trust_forwarded {
        filters.push(filter(
            "envoy.filters.http.header_to_metadata",
            forwarded::first_host(),
        ));
    }
    filters.extend(
        policy::access::blocked(&global.blocked).map(|rbac| filter("sluice.blocked", rbac)),
    );
    filters.extend(policies(discovery, global.max_body_size));
    filters.push(discovered_filter(FILTER));
    filters.push(filter(
        "envoy.filters.http.router",
        Router {
            suppress_envoy_headers: true,
            ..Router::default()
        },
    ));
    filters
}

/// Sends a request away (502) that has come back too often, and marks the others.
fn loops(global: &GlobalConfig) -> CdnLoopConfig {
    CdnLoopConfig {
        cdn_id: global.cdn_id.clone(),
        max_allowed_occurrences: MAX_LOOPS,
    }
}

/// Composite filter of late policies, where routes are known from the beginning.
fn policies(discovery: Discovery, largest_body: Option<u64>) -> Vec<HttpFilter> {
    let composite = policy::composite(largest_body);
    match discovery {
        Discovery::Table => {
            // Not by its own name: Envoy switches a filter on for whatever route has something to say to it.
            let composite = filter(LOOKUP_FILTER, policy::composite_chain(composite));
            let usual = filter(policy::POLICY, policy::usual(largest_body));
            vec![
                usual,
                HttpFilter {
                    disabled: true,
                    ..composite
                },
            ]
        }
        Discovery::Scopes => vec![
            filter(policy::FIREWALL, policy::firewall_composite()),
            filter(policy::POLICY, composite),
        ],
    }
}

/// A filter of ours. It comes on its own, so that a new bootstrap configuration does not drain the listener.
pub(super) fn discovered_filter(name: &str) -> HttpFilter {
    let source = ExtensionConfigSource {
        config_source: Some(ads_awaited()),
        type_urls: super::filter::type_urls(),
        ..ExtensionConfigSource::default()
    };
    HttpFilter {
        name: name.to_owned(),
        config_type: Some(ConfigType::ConfigDiscovery(source)),
        ..HttpFilter::default()
    }
}

fn filter<M: Message + Name>(name: &str, config: M) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: any(config).map(ConfigType::TypedConfig),
        ..HttpFilter::default()
    }
}

fn access_logs(global: &GlobalConfig, settings: &Settings) -> Vec<AccessLog> {
    let written = access_log::of_requests(&global.log, settings);
    let to_controller = settings.request_log.then(access_log_service::to_controller);
    written.into_iter().chain(to_controller).collect()
}

/// Envoy limits all headers together.
fn kilobytes(headers: HeaderBuffers) -> u32 {
    /// Range that Envoy accepts.
    const MOST: u64 = 8192;
    let bytes = headers.size.saturating_mul(headers.number.into());
    u32::try_from(bytes.div_ceil(1024).clamp(1, MOST)).unwrap_or_default()
}

fn protocol(global: &GlobalConfig, manager: HttpConnectionManager) -> HttpConnectionManager {
    let Http {
        max_concurrent_streams: streams,
        keep_alive_timeout: keep_alive,
        keep_alive_requests: requests,
        header_timeout,
        body_timeout,
        header_buffers: headers,
        http2: _,
    } = global.http;
    // nginx: `underscores_in_headers off` drops them: `X_Forwarded_For` is not mistaken for another header.
    let underscores = if global.underscores_in_headers {
        HeadersWithUnderscoresAction::Allow
    } else {
        HeadersWithUnderscoresAction::DropHeader
    };
    HttpConnectionManager {
        common_http_protocol_options: Some(HttpProtocolOptions {
            // To Envoy 0 is without a limit, to nginx it is none at all.
            idle_timeout: seconds(keep_alive.max(1).into()),
            max_requests_per_connection: number(if keep_alive == 0 { 1 } else { requests.max(1) }),
            headers_with_underscores_action: underscores.into(),
            // nginx does not count them; their size is limited.
            max_headers_count: number(MAX_HEADERS),
            ..HttpProtocolOptions::default()
        }),
        http_protocol_options: Some(header_case::preserved(Http1ProtocolOptions {
            accept_http_10: true,
            // A probe of a load balancer may name no host: the catch-all host takes it, as in nginx.
            default_host_for_http_10: "_".to_owned(),
            allow_custom_methods: true,
            ..Default::default()
        })),
        http2_protocol_options: Some(Http2ProtocolOptions {
            max_concurrent_streams: number(streams),
            initial_stream_window_size: number(HTTP2_STREAM_WINDOW),
            initial_connection_window_size: number(HTTP2_CONNECTION_WINDOW),
            ..Http2ProtocolOptions::default()
        }),
        max_request_headers_kb: headers.map(kilobytes).and_then(number),
        request_headers_timeout: seconds(header_timeout.into()),
        // Routes say it again for what they forward.
        stream_idle_timeout: seconds(body_timeout.into()),
        ..manager
    }
}

/// Settings that harden an edge against untrusted clients.
fn hardened() -> HttpConnectionManager {
    HttpConnectionManager {
        internal_address_config: Some(nobody_is_internal()),
        skip_xff_append: true,
        normalize_path: yes(),
        merge_slashes: true,
        strip_trailing_host_dot: true,
        // Not decoded here: `encoded.rs` finds the route by the decoded path and gives the pod what was sent.
        path_with_escaped_slashes_action: PathWithEscapedSlashesAction::KeepUnchanged.into(),
        // The pod's own `server` header, or none.
        server_header_transformation: ServerHeaderTransformation::PassThrough.into(),
        // ingress-nginx: the `X-Request-ID` of a client goes on.
        preserve_external_request_id: true,
        local_reply_config: Some(local_reply::pages()),
        ..HttpConnectionManager::default()
    }
}

/// To Envoy an internal client may steer the router with `x-envoy-*` headers, and without ranges everybody in a private
/// network is internal. No client connects from this address.
fn nobody_is_internal() -> InternalAddressConfig {
    let nobody = CidrRange {
        address_prefix: "255.255.255.255".to_owned(),
        prefix_len: number(32),
    };
    InternalAddressConfig {
        cidr_ranges: vec![nobody],
        ..InternalAddressConfig::default()
    }
}

#[cfg(test)]
mod tests;
