//! The listener and its HTTP connection manager: LDS.

use envoy_types::pb::envoy::config::accesslog::v3::AccessLog;
use envoy_types::pb::envoy::config::accesslog::v3::access_log;
use envoy_types::pb::envoy::config::core::v3::http_protocol_options::HeadersWithUnderscoresAction;
use envoy_types::pb::envoy::config::core::v3::{
    CidrRange, ExtensionConfigSource, Http1ProtocolOptions, Http2ProtocolOptions, HttpProtocolOptions,
};
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType as NetworkConfig;
use envoy_types::pb::envoy::config::listener::v3::{AdditionalAddress, Filter, FilterChain, Listener};
use envoy_types::pb::envoy::extensions::access_loggers::stream::v3::StdoutAccessLog;
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::{
    InternalAddressConfig, PathWithEscapedSlashesAction, RouteSpecifier, ServerHeaderTransformation, UpgradeConfig,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds,
};
use prost::Name;

use super::wire::{address, ads_awaited, any, number, seconds, yes};
use super::{FILTER, HTTP, HTTPS, tls};
use crate::Settings;

/// nginx: `keepalive_timeout`, as ingress-nginx sets it.
const KEEPALIVE: i64 = 75;
/// nginx: `client_header_timeout`, as ingress-nginx sets it.
const REQUEST_HEADERS: i64 = 60;
/// nginx: `client_body_timeout` and `proxy_read_timeout`; routes say it again for what they forward.
const STREAM_IDLE: i64 = 60;
/// nginx: `http2_max_concurrent_streams`.
const HTTP2_STREAMS: u32 = 128;
/// Envoy's advice for an edge: what one client can make Envoy hold.
const HTTP2_STREAM_WINDOW: u32 = 64 * 1024;
const HTTP2_CONNECTION_WINDOW: u32 = 1024 * 1024;

/// The listener for HTTP; `None` when there is no address to listen on.
#[must_use]
pub fn listener(settings: &Settings) -> Option<Listener> {
    let (first, others) = settings.http.split_first()?;
    let additional = |socket| AdditionalAddress { address: Some(address(socket)), ..Default::default() };
    Some(Listener {
        name: HTTP.to_owned(),
        address: Some(address(*first)),
        additional_addresses: others.iter().copied().map(additional).collect(),
        filter_chains: vec![filter_chain(HTTP, settings)],
        enable_reuse_port: yes(),
        ..Listener::default()
    })
}

/// The listener for HTTPS, with the same routes; `None` when there is none.
#[must_use]
pub fn tls_listener(settings: &Settings) -> Option<Listener> {
    let https = settings.https.as_ref()?;
    let chain = FilterChain { transport_socket: Some(tls::terminated()), ..filter_chain(HTTPS, settings) };
    Some(Listener {
        name: HTTPS.to_owned(),
        address: Some(address(https.address)),
        filter_chains: vec![chain],
        enable_reuse_port: yes(),
        ..Listener::default()
    })
}

fn filter_chain(name: &str, settings: &Settings) -> FilterChain {
    let manager = Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: any(connection_manager(name, settings)).map(NetworkConfig::TypedConfig),
    };
    FilterChain { filters: vec![manager], ..FilterChain::default() }
}

fn connection_manager(name: &str, settings: &Settings) -> HttpConnectionManager {
    let rds = Rds { config_source: Some(ads_awaited()), route_config_name: HTTP.to_owned() };
    HttpConnectionManager {
        stat_prefix: name.to_owned(),
        route_specifier: Some(RouteSpecifier::Rds(rds)),
        http_filters: vec![the_filter(), router()],
        access_log: if settings.access_log { vec![to_stdout()] } else { Vec::new() },
        upgrade_configs: vec![UpgradeConfig { upgrade_type: "websocket".to_owned(), ..Default::default() }],
        ..hardened()
    }
}

/// Comes on its own, so that a new checkpoint does not drain the listener.
fn the_filter() -> HttpFilter {
    let source = ExtensionConfigSource {
        config_source: Some(ads_awaited()),
        type_urls: vec![Wasm::type_url()],
        ..ExtensionConfigSource::default()
    };
    HttpFilter {
        name: FILTER.to_owned(),
        config_type: Some(ConfigType::ConfigDiscovery(source)),
        ..HttpFilter::default()
    }
}

fn router() -> HttpFilter {
    let router = Router { suppress_envoy_headers: true, ..Router::default() };
    HttpFilter {
        name: "envoy.filters.http.router".to_owned(),
        config_type: any(router).map(ConfigType::TypedConfig),
        ..HttpFilter::default()
    }
}

fn to_stdout() -> AccessLog {
    AccessLog {
        name: "envoy.access_loggers.stdout".to_owned(),
        config_type: any(StdoutAccessLog::default()).map(access_log::ConfigType::TypedConfig),
        ..AccessLog::default()
    }
}

/// What an edge must not believe, and for how long it waits.
fn hardened() -> HttpConnectionManager {
    HttpConnectionManager {
        use_remote_address: yes(),
        internal_address_config: Some(nobody_is_internal()),
        normalize_path: yes(),
        merge_slashes: true,
        // An escaped slash is part of a segment; it is matched and forwarded as it came.
        path_with_escaped_slashes_action: PathWithEscapedSlashesAction::KeepUnchanged.into(),
        // The pod's own `server` header, or none.
        server_header_transformation: ServerHeaderTransformation::PassThrough.into(),
        generate_request_id: yes(),
        // ingress-nginx: the `X-Request-ID` of a client goes on.
        preserve_external_request_id: true,
        common_http_protocol_options: Some(HttpProtocolOptions {
            idle_timeout: seconds(KEEPALIVE),
            // nginx: `underscores_in_headers off` drops them: `X_Forwarded_For` is not mistaken for another header.
            headers_with_underscores_action: HeadersWithUnderscoresAction::DropHeader.into(),
            ..HttpProtocolOptions::default()
        }),
        http_protocol_options: Some(Http1ProtocolOptions { accept_http_10: true, ..Default::default() }),
        http2_protocol_options: Some(Http2ProtocolOptions {
            max_concurrent_streams: number(HTTP2_STREAMS),
            initial_stream_window_size: number(HTTP2_STREAM_WINDOW),
            initial_connection_window_size: number(HTTP2_CONNECTION_WINDOW),
            ..Http2ProtocolOptions::default()
        }),
        request_headers_timeout: seconds(REQUEST_HEADERS),
        stream_idle_timeout: seconds(STREAM_IDLE),
        ..HttpConnectionManager::default()
    }
}

/// To Envoy an internal client may steer the router with `x-envoy-*` headers, and without ranges everybody in a private
/// network is internal. No client connects from this address.
fn nobody_is_internal() -> InternalAddressConfig {
    let nobody = CidrRange { address_prefix: "255.255.255.255".to_owned(), prefix_len: number(32) };
    InternalAddressConfig { cidr_ranges: vec![nobody], ..InternalAddressConfig::default() }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::FilterCode;

    fn settings(addresses: &[&str]) -> Settings {
        let http = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Settings { http, ..Settings::new(FilterCode::Inline(vec![]), vec![]) }
    }

    fn manager(settings: &Settings) -> HttpConnectionManager {
        let filter = listener(settings).unwrap().filter_chains.remove(0).filters.remove(0);
        let Some(NetworkConfig::TypedConfig(config)) = filter.config_type else { panic!("no config") };
        HttpConnectionManager::decode(config.value.as_slice()).unwrap()
    }

    #[test]
    fn without_an_address_there_is_no_listener() {
        assert_eq!(listener(&settings(&[])), None);
    }

    #[test]
    fn more_addresses_are_the_same_listener() {
        let listener = listener(&settings(&["0.0.0.0:80", "[::]:80"])).unwrap();
        assert_eq!(listener.additional_addresses.len(), 1);
        assert_eq!(listener.filter_chains.len(), 1);
    }

    #[test]
    fn the_filter_comes_before_the_router() {
        let names = manager(&settings(&["0.0.0.0:80"])).http_filters.into_iter().map(|filter| filter.name);
        assert_eq!(names.collect::<Vec<_>>(), ["sluice", "envoy.filters.http.router"]);
    }

    #[test]
    fn requests_are_logged_only_when_asked_for() {
        let quiet = settings(&["0.0.0.0:80"]);
        assert!(manager(&quiet).access_log.is_empty());
        assert_eq!(manager(&Settings { access_log: true, ..quiet }).access_log.len(), 1);
    }
}
