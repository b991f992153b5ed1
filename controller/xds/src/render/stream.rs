//! Ports that lead to pods without HTTP: a listener each.

use envoy_types::pb::envoy::config::accesslog::v3::AccessLog;
use envoy_types::pb::envoy::config::core::v3::socket_address::Protocol;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType as NetworkConfig;
use envoy_types::pb::envoy::config::listener::v3::listener_filter::ConfigType as ListenerConfig;
use envoy_types::pb::envoy::config::listener::v3::{
    AdditionalAddress, Filter, FilterChain, Listener, ListenerFilter, UdpListenerConfig,
};
use envoy_types::pb::envoy::extensions::filters::listener::proxy_protocol::v3::ProxyProtocol;
use envoy_types::pb::envoy::extensions::filters::network::tcp_proxy::v3::TcpProxy;
use envoy_types::pb::envoy::extensions::filters::network::tcp_proxy::v3::tcp_proxy::ClusterSpecifier;
use envoy_types::pb::envoy::extensions::filters::udp::udp_proxy::v3::udp_proxy_config::RouteSpecifier;
use envoy_types::pb::envoy::extensions::filters::udp::udp_proxy::v3::{Route, UdpProxyConfig};
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::OnMatch;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use sluice_ir::{BackendId, GlobalConfig, L4Protocol, Stream, StreamPort};

use super::access_log;
use super::proto::{any, number, seconds, socket, xds_extension, yes};
use crate::Settings;

/// `None` when there is no address to listen on.
#[must_use]
pub fn stream(
    port: StreamPort,
    stream: &Stream,
    global: &GlobalConfig,
    settings: &Settings,
) -> Option<Listener> {
    let protocol = match port.protocol {
        L4Protocol::Tcp => Protocol::Tcp,
        L4Protocol::Udp => Protocol::Udp,
    };
    let at = |address: &std::net::SocketAddr| socket(address.ip(), port.number.get(), protocol);
    let (first, others) = settings.http.split_first()?;
    let listener = Listener {
        name: port.to_string(),
        address: Some(at(first)),
        additional_addresses: others
            .iter()
            .map(|other| AdditionalAddress {
                address: Some(at(other)),
                ..AdditionalAddress::default()
            })
            .collect(),
        enable_reuse_port: yes(),
        ..Listener::default()
    };
    Some(match port.protocol {
        L4Protocol::Tcp => connections(
            stream,
            listener,
            access_log::of_connections(&global.log, settings),
        ),
        L4Protocol::Udp => datagrams(stream, listener),
    })
}

fn connections(stream: &Stream, listener: Listener, log: Option<AccessLog>) -> Listener {
    let proxy = TcpProxy {
        stat_prefix: listener.name.clone(),
        cluster_specifier: Some(ClusterSpecifier::Cluster(
            stream.backend.as_str().to_owned(),
        )),
        idle_timeout: seconds(stream.idle_timeout.into()),
        access_log: log.into_iter().collect(),
        max_connect_attempts: number(stream.attempts.max(1)),
        ..TcpProxy::default()
    };
    let filter = Filter {
        name: "envoy.filters.network.tcp_proxy".to_owned(),
        config_type: any(proxy).map(NetworkConfig::TypedConfig),
    };
    let proxy_protocol = || ListenerFilter {
        name: "envoy.filters.listener.proxy_protocol".to_owned(),
        config_type: any(ProxyProtocol::default()).map(ListenerConfig::TypedConfig),
        ..ListenerFilter::default()
    };
    Listener {
        listener_filters: stream
            .proxy_protocol
            .then(proxy_protocol)
            .into_iter()
            .collect(),
        filter_chains: vec![FilterChain {
            filters: vec![filter],
            ..FilterChain::default()
        }],
        ..listener
    }
}

fn datagrams(stream: &Stream, listener: Listener) -> Listener {
    let proxy = UdpProxyConfig {
        stat_prefix: listener.name.clone(),
        route_specifier: Some(RouteSpecifier::Matcher(always_to(&stream.backend))),
        idle_timeout: seconds(stream.idle_timeout.max(1).into()),
        ..UdpProxyConfig::default()
    };
    let filter = ListenerFilter {
        name: "envoy.filters.udp_listener.udp_proxy".to_owned(),
        config_type: any(proxy).map(ListenerConfig::TypedConfig),
        ..ListenerFilter::default()
    };
    Listener {
        listener_filters: vec![filter],
        udp_listener_config: Some(UdpListenerConfig::default()),
        ..listener
    }
}

/// A matcher without anything to match.
fn always_to(backend: &BackendId) -> Matcher {
    let route = Route {
        cluster: backend.as_str().to_owned(),
    };
    let always = OnMatch {
        on_match: Some(Then::Action(xds_extension("route", route))),
        ..OnMatch::default()
    };
    Matcher {
        on_no_match: Some(Box::new(always)),
        ..Matcher::default()
    }
}
