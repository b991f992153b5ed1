//! The listeners: LDS.

use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType as NetworkConfig;
use envoy_types::pb::envoy::config::listener::v3::listener_filter::ConfigType as ListenerConfig;
use envoy_types::pb::envoy::config::listener::v3::{
    AdditionalAddress, Filter, FilterChain, Listener, ListenerFilter,
};
use envoy_types::pb::envoy::extensions::filters::listener::proxy_protocol::v3::ProxyProtocol;
use sluice_ir::Edge;

use super::manager::{Scheme, manager};
use super::wire::{address, any, yes};
use super::{HTTP, HTTPS, tls};
use crate::Settings;

/// The listener for HTTP; `None` when there is no address to listen on.
#[must_use]
pub fn listener(edge: &Edge, settings: &Settings) -> Option<Listener> {
    let (first, others) = settings.http.split_first()?;
    let additional = |socket| AdditionalAddress { address: Some(address(socket)), ..Default::default() };
    Some(Listener {
        name: HTTP.to_owned(),
        address: Some(address(*first)),
        additional_addresses: others.iter().copied().map(additional).collect(),
        listener_filters: listener_filters(edge),
        filter_chains: vec![filter_chain(HTTP, Scheme::Http, edge, settings)],
        enable_reuse_port: yes(),
        ..Listener::default()
    })
}

/// The listener for HTTPS, with the same routes; `None` when there is none.
#[must_use]
pub fn tls_listener(edge: &Edge, settings: &Settings) -> Option<Listener> {
    let https = settings.https.as_ref()?;
    let chain = filter_chain(HTTPS, Scheme::Https, edge, settings);
    let chain = FilterChain { transport_socket: Some(tls::terminated(edge)), ..chain };
    Some(Listener {
        name: HTTPS.to_owned(),
        address: Some(address(https.address)),
        listener_filters: listener_filters(edge),
        filter_chains: vec![chain],
        enable_reuse_port: yes(),
        ..Listener::default()
    })
}

fn filter_chain(name: &str, scheme: Scheme, edge: &Edge, settings: &Settings) -> FilterChain {
    let manager = Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: any(manager(name, scheme, edge, settings)).map(NetworkConfig::TypedConfig),
    };
    FilterChain { filters: vec![manager], ..FilterChain::default() }
}

fn listener_filters(edge: &Edge) -> Vec<ListenerFilter> {
    let proxy_protocol = || ListenerFilter {
        name: "envoy.filters.listener.proxy_protocol".to_owned(),
        config_type: any(ProxyProtocol::default()).map(ListenerConfig::TypedConfig),
        ..ListenerFilter::default()
    };
    if edge.forwarded.proxy_protocol { vec![proxy_protocol()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterCode;

    fn settings(addresses: &[&str]) -> Settings {
        let http = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Settings { http, ..Settings::new(FilterCode::Inline(vec![]), vec![]) }
    }

    #[test]
    fn without_an_address_there_is_no_listener() {
        assert_eq!(listener(&Edge::default(), &settings(&[])), None);
    }

    #[test]
    fn more_addresses_are_the_same_listener() {
        let listener = listener(&Edge::default(), &settings(&["0.0.0.0:80", "[::]:80"])).unwrap();
        assert_eq!(listener.additional_addresses.len(), 1);
        assert_eq!(listener.filter_chains.len(), 1);
    }
}
