//! One cluster for each backend: CDS.

use std::collections::HashMap;
use std::num::NonZeroU32;

use envoy_types::pb::envoy::config::cluster::v3::circuit_breakers::Thresholds;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{
    ClusterDiscoveryType, CommonLbConfig, DiscoveryType, EdsClusterConfig,
};
use envoy_types::pb::envoy::config::cluster::v3::load_balancing_policy::Policy;
use envoy_types::pb::envoy::config::cluster::v3::{CircuitBreakers, Cluster, LoadBalancingPolicy};
use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType as SocketConfig;
use envoy_types::pb::envoy::config::core::v3::{
    Http1ProtocolOptions, Http2ProtocolOptions, HttpProtocolOptions as CommonOptions, ProxyProtocolConfig,
    TransportSocket, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{HeaderMutation, Mutations};
use envoy_types::pb::envoy::extensions::filters::http::upstream_codec::v3::UpstreamCodec;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpFilter;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::envoy::extensions::load_balancing_policies::common::v3::SlowStartConfig;
use envoy_types::pb::envoy::extensions::load_balancing_policies::least_request::v3::LeastRequest;
use envoy_types::pb::envoy::extensions::load_balancing_policies::override_host::v3::OverrideHost;
use envoy_types::pb::envoy::extensions::load_balancing_policies::override_host::v3::override_host::OverrideHostSource;
use envoy_types::pb::envoy::extensions::load_balancing_policies::round_robin::v3::RoundRobin;
use envoy_types::pb::envoy::extensions::transport_sockets::proxy_protocol::v3::ProxyProtocolUpstreamTransport;
use envoy_types::pb::envoy::extensions::transport_sockets::raw_buffer::v3::RawBuffer;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::explicit_http_config::ProtocolConfig;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::{
    ExplicitHttpConfig, UpstreamProtocolOptions,
};
use envoy_types::pb::envoy::r#type::v3::Percent;
use envoy_types::pb::google::protobuf::Any;
use prost::{Message, Name};
use sluice_ir::{Backend, BackendId, KeepAlive, LoadBalance, Protocol, Transport};

use super::header::remove;
use super::header_case;
use super::manager::{MAX_HEADERS, discovered_filter};
use super::proto::{ads, any, extension, millis, number, seconds};
use super::upstream_tls;
use crate::{BACKEND_HEADER, ENDPOINT_HEADER};

/// The cluster of one backend. Its endpoints are a resource of their own.
#[must_use]
pub fn cluster(id: &BackendId, backend: &Backend) -> Cluster {
    let protocol = HttpProtocolOptions::type_url()
        .trim_start_matches("type.googleapis.com/")
        .to_owned();
    let transport = &backend.transport;
    Cluster {
        name: id.as_str().to_owned(),
        // Envoy takes no 0.
        connect_timeout: seconds(transport.connect_timeout.max(1).into()),
        transport_socket: socket(transport),
        circuit_breakers: Some(limits(transport)),
        typed_extension_protocol_options: HashMap::from([(protocol, protocol_options(transport))]),
        ignore_health_on_host_removal: true,
        load_balancing_policy: Some(override_host(native_policy(backend))),
        ..discovered()
    }
}

fn socket(transport: &Transport) -> Option<TransportSocket> {
    let tls = transport
        .tls
        .as_ref()
        .map(|tls| upstream_tls::socket(tls, transport.protocol));
    if !transport.proxy_protocol {
        return tls;
    }
    let plain = || TransportSocket {
        name: "envoy.transport_sockets.raw_buffer".to_owned(),
        config_type: any(RawBuffer {}).map(SocketConfig::TypedConfig),
    };
    let told = ProxyProtocolUpstreamTransport {
        // nginx writes version 1.
        config: Some(ProxyProtocolConfig::default()),
        transport_socket: Some(tls.unwrap_or_else(plain)),
        ..ProxyProtocolUpstreamTransport::default()
    };
    Some(TransportSocket {
        name: "envoy.transport_sockets.upstream_proxy_protocol".to_owned(),
        config_type: any(told).map(SocketConfig::TypedConfig),
    })
}

/// Endpoints come by EDS, those of names too.
fn discovered() -> Cluster {
    Cluster {
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(DiscoveryType::Eds.into())),
        eds_cluster_config: Some(EdsClusterConfig {
            eds_config: Some(ads()),
            ..EdsClusterConfig::default()
        }),
        common_lb_config: Some(CommonLbConfig {
            // Draining endpoints get nothing new, however many there are.
            healthy_panic_threshold: Some(Percent { value: 0.0 }),
            // Weights apply at once, too.
            update_merge_window: millis(0),
            ..CommonLbConfig::default()
        }),
        ..Cluster::default()
    }
}

/// Envoy's own balancing: on routes without the filter; before the filter has its tables; and for endpoints that Envoy does not know.
fn native_policy(backend: &Backend) -> TypedExtensionConfig {
    if backend.load_balance == LoadBalance::LEAST_CONN {
        let policy = LeastRequest::default();
        return extension("envoy.load_balancing_policies.least_request", policy);
    }
    let slow_start = backend.health.slow_start.map(|window| SlowStartConfig {
        slow_start_window: seconds(window.get().into()),
        ..SlowStartConfig::default()
    });
    let policy = RoundRobin {
        slow_start_config: slow_start,
        ..RoundRobin::default()
    };
    extension("envoy.load_balancing_policies.round_robin", policy)
}

/// Each attempt goes to the next endpoint that the filter named, and without one to Envoy's own choice.
fn override_host(native: TypedExtensionConfig) -> LoadBalancingPolicy {
    let source = OverrideHostSource {
        header: ENDPOINT_HEADER.to_owned(),
        ..OverrideHostSource::default()
    };
    policy(extension(
        "envoy.load_balancing_policies.override_host",
        OverrideHost {
            override_host_sources: vec![source],
            fallback_policy: Some(policy(native)),
            ..OverrideHost::default()
        },
    ))
}

fn policy(config: TypedExtensionConfig) -> LoadBalancingPolicy {
    LoadBalancingPolicy {
        policies: vec![Policy {
            typed_extension_config: Some(config),
        }],
    }
}

/// nginx has no circuit breakers; Envoy's own would start at 1024 requests, and at three retries. Connections and datagrams of
/// which nothing is known may come back to us: each time takes another connection, or for datagrams another socket, until there
/// are as many as there may be.
fn limits(transport: &Transport) -> CircuitBreakers {
    let thresholds = Thresholds {
        max_connections: number(transport.max_connections.map_or(u32::MAX, NonZeroU32::get)),
        max_pending_requests: number(u32::MAX),
        max_requests: number(u32::MAX),
        max_retries: number(u32::MAX),
        ..Thresholds::default()
    };
    CircuitBreakers {
        thresholds: vec![thresholds],
        ..CircuitBreakers::default()
    }
}

fn protocol_options(transport: &Transport) -> Any {
    let spoken = match transport.protocol {
        // FastCGI is reported.
        Protocol::Http1 | Protocol::FastCgi => ProtocolConfig::HttpProtocolOptions(
            header_case::preserved(Http1ProtocolOptions::default()),
        ),
        Protocol::Http2 => ProtocolConfig::Http2ProtocolOptions(Http2ProtocolOptions::default()),
    };
    let spoken = ExplicitHttpConfig {
        protocol_config: Some(spoken),
    };
    let KeepAlive {
        idle_timeout: idle,
        max_requests: requests,
        max_lifetime: lifetime,
    } = &transport.keep_alive;
    let common = CommonOptions {
        // Envoy takes 0 as for ever, nginx as not at all.
        idle_timeout: if *idle == 0 {
            millis(1)
        } else {
            seconds(i64::from(*idle))
        },
        max_requests_per_connection: requests.and_then(|requests| number(requests.get())),
        max_connection_duration: lifetime.and_then(|lifetime| seconds(lifetime.get().into())),
        max_headers_count: number(MAX_HEADERS),
        ..CommonOptions::default()
    };
    envoy_types::util::pack_any(HttpProtocolOptions {
        common_http_protocol_options: Some(common),
        upstream_protocol_options: Some(UpstreamProtocolOptions::ExplicitHttpConfig(spoken)),
        http_filters: upstream_filters(transport),
        ..HttpProtocolOptions::default()
    })
}

/// Filters behind the choice of the endpoint; without one of ours Envoy needs none at all.
fn upstream_filters(transport: &Transport) -> Vec<HttpFilter> {
    let mirror = transport
        .copies
        .map(|copies| discovered_filter(copies.filter()));
    let hide = (transport.protocol == Protocol::Http2).then(without_choice);
    let mut filters: Vec<_> = mirror.into_iter().chain(hide).collect();
    if !filters.is_empty() {
        filters.push(upstream_filter(
            "envoy.filters.http.upstream_codec",
            UpstreamCodec {},
        ));
    }
    filters
}

/// HTTP/2 has names with a colon, and pods refuse requests with one that they do not know. Taken away after the choice
/// of the endpoint: on the route it would be gone before.
fn without_choice() -> HttpFilter {
    let request_mutations = [ENDPOINT_HEADER, BACKEND_HEADER].map(remove).into();
    let mutations = Mutations {
        request_mutations,
        ..Mutations::default()
    };
    let hide = HeaderMutation {
        mutations: Some(mutations),
        ..HeaderMutation::default()
    };
    upstream_filter("envoy.filters.http.header_mutation", hide)
}

fn upstream_filter<M: Name + Message>(name: &str, config: M) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: any(config).map(ConfigType::TypedConfig),
        ..HttpFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;

    fn rendered() -> Cluster {
        let backend = Backend {
            attempts: NonZeroU8::MIN,
            ..Backend::default()
        };
        cluster(&BackendId::new("default/shop/80"), &backend)
    }

    #[test]
    fn the_options_are_keyed_by_their_type() {
        let cluster = rendered();
        let keys: Vec<_> = cluster.typed_extension_protocol_options.keys().collect();
        assert_eq!(
            keys,
            ["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
        );
    }

    #[test]
    fn connections_are_limited_where_nothing_is_known_of_them() {
        let transport = Transport {
            max_connections: NonZeroU32::new(7),
            ..Transport::default()
        };
        let limits = limits(&transport).thresholds.remove(0);
        assert_eq!(
            (limits.max_connections, limits.max_requests),
            (number(7), number(u32::MAX))
        );
    }

    #[test]
    fn nothing_else_is_limited() {
        let cluster = rendered();
        let limits = &cluster.circuit_breakers.unwrap().thresholds[0];
        for limit in [
            limits.max_connections,
            limits.max_pending_requests,
            limits.max_requests,
            limits.max_retries,
        ] {
            assert_eq!(limit, number(u32::MAX));
        }
    }
}
