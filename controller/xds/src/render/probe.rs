//! A listener that never listens, for routes that are only tried.

use std::net::{Ipv4Addr, SocketAddr};

use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{Filter, FilterChain, Listener};
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds,
};
use envoy_types::pb::google::protobuf::BoolValue;
use sluice_ir::Config;

use super::Discovery;
use super::listener::tls_listener;
use super::proto::{address, ads_awaited, any};
use crate::{PROBE, Settings, TLS_PROBE};

/// Never bound, so any port will do.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// Two listeners may not have one address, even if neither has it.
const NOWHERE_ELSE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// The listener for HTTPS, but that it does not listen.
pub(crate) fn tls(config: &Config, settings: &Settings, discovery: Discovery) -> Option<Listener> {
    Some(Listener {
        name: TLS_PROBE.to_owned(),
        address: Some(address(NOWHERE_ELSE)),
        bind_to_port: Some(BoolValue { value: false }),
        ..tls_listener(config, settings, discovery)?.listener
    })
}

pub(crate) fn listener() -> Listener {
    let router = HttpFilter {
        name: "envoy.filters.http.router".to_owned(),
        config_type: any(Router::default()).map(http_filter::ConfigType::TypedConfig),
        ..HttpFilter::default()
    };
    let routes = Rds {
        config_source: Some(ads_awaited()),
        route_config_name: PROBE.to_owned(),
    };
    let manager = HttpConnectionManager {
        stat_prefix: PROBE.to_owned(),
        route_specifier: Some(RouteSpecifier::Rds(routes)),
        http_filters: vec![router],
        ..HttpConnectionManager::default()
    };
    let manager = Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: any(manager).map(ConfigType::TypedConfig),
    };
    Listener {
        name: PROBE.to_owned(),
        address: Some(address(NOWHERE)),
        bind_to_port: Some(BoolValue { value: false }),
        filter_chains: vec![FilterChain {
            filters: vec![manager],
            ..FilterChain::default()
        }],
        ..Listener::default()
    }
}
