//! The listeners: LDS.

use std::net::SocketAddr;

use envoy_types::pb::envoy::config::core::v3::CidrRange;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType as NetworkConfig;
use envoy_types::pb::envoy::config::listener::v3::listener_filter::ConfigType as ListenerConfig;
use envoy_types::pb::envoy::config::listener::v3::{
    AdditionalAddress, Filter, FilterChain, FilterChainMatch, Listener, ListenerFilter,
};
use envoy_types::pb::envoy::extensions::filters::listener::proxy_protocol::v3::ProxyProtocol;
use envoy_types::pb::envoy::extensions::filters::listener::tls_inspector::v3::TlsInspector;
use envoy_types::pb::google::protobuf::Duration;
use prost::{Message, Name};
use sluice_ir::{ClientValidation, Config, GlobalConfig, HostTls, SecretId};

use super::manager::{Front, Scheme, manager};
use super::proto::{address, any, cidr_range, millis_long, number, yes};
use super::{Discovery, HTTP, HTTPS, filter_chains, passthrough, tls};
use crate::Settings;

/// The listener for HTTP; `None` when there is no address to listen on.
#[must_use]
pub fn listener(
    global: &GlobalConfig,
    settings: &Settings,
    discovery: Discovery,
) -> Option<Listener> {
    let front = Front {
        scheme: Scheme::Http,
        global,
        settings,
        discovery,
        routes: HTTP,
    };
    plain(HTTP, &settings.http, &front)
}

/// The listener for HTTPS, with the same routes; `None` when there is none.
#[must_use]
pub fn tls_listener(
    config: &Config,
    settings: &Settings,
    discovery: Discovery,
) -> Option<Listener> {
    let https = settings.https.as_ref()?;
    let front = Front {
        scheme: Scheme::Https,
        global: &config.global,
        settings,
        discovery,
        routes: HTTP,
    };
    let addresses = settings.on_port(https.address.port());
    let addresses = if addresses.is_empty() {
        vec![https.address]
    } else {
        addresses
    };
    secure(HTTPS, &addresses, config, None, &front)
}

/// Another listener, on the address of that for HTTP and with a table of its own; `None` when there is no address.
#[must_use]
pub fn own_listener(
    name: &str,
    listener: &sluice_ir::Listener,
    config: &Config,
    settings: &Settings,
) -> Option<Listener> {
    let addresses = settings.on_port(listener.port.get());
    let config = config.on_listener(listener);
    let front = Front {
        scheme: if listener.tls.is_some() {
            Scheme::Https
        } else {
            Scheme::Http
        },
        global: &config.global,
        settings,
        discovery: Discovery::Table,
        routes: name,
    };
    match &listener.tls {
        Some(tls) => {
            let certificate = tls.default_certificate.as_ref();
            secure(name, &addresses, &config, certificate, &front)
        }
        None => plain(name, &addresses, &front),
    }
}

fn plain(name: &str, addresses: &[SocketAddr], front: &Front<'_>) -> Option<Listener> {
    Some(Listener {
        listener_filters_timeout: proxy_timeout(front.global),
        listener_filters: proxy_protocol(front.global).into_iter().collect(),
        filter_chains: vec![from_believed(front.global, filter_chain(name, None, front))],
        ..on(addresses, name)?
    })
}

/// A listener without filters; `None` when there is no address.
fn on(addresses: &[SocketAddr], name: &str) -> Option<Listener> {
    let (first, others) = addresses.split_first()?;
    let additional = |socket| AdditionalAddress {
        address: Some(address(socket)),
        ..Default::default()
    };
    Some(Listener {
        name: name.to_owned(),
        address: Some(address(*first)),
        additional_addresses: others.iter().copied().map(additional).collect(),
        enable_reuse_port: yes(),
        ..Listener::default()
    })
}

/// `certificate`: of all hosts without one of their own; `None` is that of all listeners.
fn secure(
    name: &str,
    addresses: &[SocketAddr],
    config: &Config,
    certificate: Option<&SecretId>,
    front: &Front<'_>,
) -> Option<Listener> {
    let global = front.global;
    let chain = |host: &HostTls| {
        let certificate = host.certificate.as_ref().or(certificate);
        let host = HostTls {
            certificate: certificate.cloned(),
            ..host.clone()
        };
        FilterChain {
            transport_socket: Some(tls::terminated(global, &host)),
            ..filter_chain(name, host.client_validation.as_ref(), front)
        }
    };
    let chains = filter_chains::groups(config).map(|(host, names)| {
        let server_names = names.into_iter().flat_map(tls::sni_names).collect();
        only_for(server_names, chain(&host))
    });
    let passed = config
        .passthrough
        .iter()
        .map(|(host, backend)| passthrough::chain(host, backend, global, front.settings));
    let mut chains: Vec<FilterChain> = chains.chain(passed).collect();
    let rejects = global.tls.reject_unknown_names;
    if rejects && chains.is_empty() {
        // There has to be one. No host has this name.
        let none = vec!["nobody-".to_owned()];
        chains.push(only_for(none, chain(&HostTls::default())));
    }
    let inspector = listener_filter(
        "envoy.filters.listener.tls_inspector",
        TlsInspector::default(),
    );
    let mut default = (!rejects).then(|| chain(&HostTls::default()));
    if global.forwarded.proxy_protocol_peers.is_some() {
        // The default one is for everybody.
        chains.extend(default.take());
    }
    let chains = chains
        .into_iter()
        .map(|chain| from_believed(global, chain))
        .collect();
    Some(Listener {
        listener_filters_timeout: proxy_timeout(global),
        listener_filters: proxy_protocol(global)
            .into_iter()
            .chain([inspector])
            .collect(),
        filter_chains: chains,
        default_filter_chain: default,
        ..on(addresses, name)?
    })
}

fn only_for(server_names: Vec<String>, chain: FilterChain) -> FilterChain {
    let hosts = FilterChainMatch {
        server_names,
        ..FilterChainMatch::default()
    };
    FilterChain {
        filter_chain_match: Some(hosts),
        ..chain
    }
}

/// The chain for those whose PROXY header is believed: Envoy cannot take their own address in its place.
fn from_believed(global: &GlobalConfig, chain: FilterChain) -> FilterChain {
    let Some(peers) = &global.forwarded.proxy_protocol_peers else {
        return chain;
    };
    let mut peers: Vec<CidrRange> = peers.iter().copied().map(cidr_range).collect();
    if peers.is_empty() {
        // Without any everybody would be meant. This is nobody.
        peers.push(CidrRange {
            address_prefix: "::".to_owned(),
            prefix_len: number(128),
        });
    }
    let matched = FilterChainMatch {
        direct_source_prefix_ranges: peers,
        ..chain.filter_chain_match.clone().unwrap_or_default()
    };
    FilterChain {
        filter_chain_match: Some(matched),
        ..chain
    }
}

fn filter_chain(name: &str, clients: Option<&ClientValidation>, front: &Front<'_>) -> FilterChain {
    let manager = Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: any(manager(name, clients, front)).map(NetworkConfig::TypedConfig),
    };
    FilterChain {
        filters: vec![manager],
        ..FilterChain::default()
    }
}

fn proxy_protocol(global: &GlobalConfig) -> Option<ListenerFilter> {
    let filter = || {
        listener_filter(
            "envoy.filters.listener.proxy_protocol",
            ProxyProtocol::default(),
        )
    };
    global.forwarded.proxy_protocol.then(filter)
}

/// For the PROXY header; `None` is Envoy's own.
fn proxy_timeout(global: &GlobalConfig) -> Option<Duration> {
    let millis = global
        .forwarded
        .proxy_timeout
        .filter(|_| global.forwarded.proxy_protocol)?;
    millis_long(millis)
}

fn listener_filter<M: Message + Name>(name: &str, config: M) -> ListenerFilter {
    ListenerFilter {
        name: name.to_owned(),
        config_type: any(config).map(ListenerConfig::TypedConfig),
        ..ListenerFilter::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterCode;

    fn settings(addresses: &[&str]) -> Settings {
        let http = addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect();
        Settings {
            http,
            ..Settings::new(FilterCode::Inline(vec![]), vec![])
        }
    }

    #[test]
    fn without_an_address_there_is_no_listener() {
        assert_eq!(
            listener(&GlobalConfig::default(), &settings(&[]), Discovery::Table),
            None
        );
    }

    #[test]
    fn more_addresses_are_the_same_listener() {
        let listener = listener(
            &GlobalConfig::default(),
            &settings(&["0.0.0.0:80", "[::]:80"]),
            Discovery::Table,
        )
        .unwrap();
        assert_eq!(listener.additional_addresses.len(), 1);
        assert_eq!(listener.filter_chains.len(), 1);
    }
}
