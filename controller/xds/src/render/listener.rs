//! The listeners: LDS.

use std::collections::BTreeSet;
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
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use prost::{Message, Name};
use sluice_ir::{ClientValidation, Config, GlobalConfig, HostTls, SecretId};

use super::chain_matcher::{self, ChainNames};
use super::filter_chains::{self, DEFAULT_CHAIN};
use super::manager::{Front, Scheme, manager};
use super::proto::{address, any, cidr_range, millis_long, number, yes};
use super::{Discovery, HTTPS, client_tls, passthrough, tls};
use crate::{HTTP, Settings};

/// A listener, and what its chains name that nothing else does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderedListener {
    /// The listener: LDS.
    pub listener: Listener,
    /// Names under which chains ask for the default certificate, beside its own: SDS.
    pub default_certificates: BTreeSet<String>,
}

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
) -> Option<RenderedListener> {
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
) -> Option<RenderedListener> {
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
        None => Some(RenderedListener {
            listener: plain(name, &addresses, &front)?,
            ..RenderedListener::default()
        }),
    }
}

fn plain(name: &str, addresses: &[SocketAddr], front: &Front<'_>) -> Option<Listener> {
    Some(Listener {
        listener_filters_timeout: proxy_timeout(front.global),
        listener_filters: proxy_protocol(front.global).into_iter().collect(),
        filter_chains: vec![from_believed(front.global, plain_chain(name, front))],
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
) -> Option<RenderedListener> {
    let (global, mut default_certificates) = (front.global, BTreeSet::new());
    // Of all hosts that ask clients for no certificate: a connection manager is long.
    let usual = tls_chain(name, None, front);
    let chain = |host: &HostTls| {
        let certificate = host.certificate.as_ref().or(certificate);
        let host = HostTls {
            certificate: certificate.cloned(),
            ..host.clone()
        };
        let clients = host.client_validation.as_ref();
        if let (None, Some(clients)) = (&host.certificate, clients) {
            default_certificates.insert(tls::default_certificate_name(Some(clients)));
        }
        FilterChain {
            transport_socket: Some(tls::terminated(global, &host)),
            ..match clients {
                None => usual.clone(),
                Some(_) => tls_chain(name, clients, front),
            }
        }
    };
    let (chains, matcher) = chains(config, chain, front);
    let inspector = listener_filter(
        "envoy.filters.listener.tls_inspector",
        TlsInspector::default(),
    );
    let listener = Listener {
        listener_filters_timeout: proxy_timeout(global),
        listener_filters: proxy_protocol(global)
            .into_iter()
            .chain([inspector])
            .collect(),
        filter_chains: chains,
        filter_chain_matcher: Some(matcher),
        ..on(addresses, name)?
    };
    Some(RenderedListener {
        listener,
        default_certificates,
    })
}

/// All chains of a listener, and the matcher among them; `chain` makes that of hosts with these settings.
fn chains(
    config: &Config,
    mut chain: impl FnMut(&HostTls) -> FilterChain,
    front: &Front<'_>,
) -> (Vec<FilterChain>, Matcher) {
    let global = front.global;
    let (mut chains, mut names) = (Vec::new(), Vec::new());
    for (host, hosts) in filter_chains::groups(config) {
        let own = filter_chains::name(&host);
        names.push(ChainNames::new(&own, hosts));
        if own != DEFAULT_CHAIN {
            chains.push(FilterChain {
                name: own,
                ..chain(&host)
            });
        }
    }
    for (backend, hosts) in filter_chains::passed(config) {
        let passed = passthrough::chain(backend, global, front.settings);
        names.push(ChainNames::new(&passed.name, &hosts));
        chains.push(passed);
    }
    let rejects = global.tls.reject_unknown_names;
    let is_named = names.iter().any(|names| names.chain == DEFAULT_CHAIN);
    // There has to be one. If names are unknown it may be nobody's.
    if !rejects || is_named || chains.is_empty() {
        chains.push(FilterChain {
            name: DEFAULT_CHAIN.to_owned(),
            ..chain(&HostTls::default())
        });
    }
    let others = (!rejects).then_some(DEFAULT_CHAIN);
    let matcher = chain_matcher::matcher(global, names, others);
    (chains, matcher)
}

/// The chain for those whose PROXY header is believed: Envoy cannot take their own address in its place.
fn from_believed(global: &GlobalConfig, chain: FilterChain) -> FilterChain {
    let Some(peers) = believed_peers(global) else {
        return chain;
    };
    FilterChain {
        filter_chain_match: Some(FilterChainMatch {
            direct_source_prefix_ranges: peers,
            ..FilterChainMatch::default()
        }),
        ..chain
    }
}

/// Peers whose PROXY header is believed; `None` is everybody.
pub(super) fn believed_peers(global: &GlobalConfig) -> Option<Vec<CidrRange>> {
    let peers = global.forwarded.proxy_protocol_peers.as_ref()?;
    let mut peers: Vec<CidrRange> = peers.iter().copied().map(cidr_range).collect();
    if peers.is_empty() {
        // Without any everybody would be meant. This is nobody.
        peers.push(CidrRange {
            address_prefix: "::".to_owned(),
            prefix_len: number(128),
        });
    }
    Some(peers)
}

fn plain_chain(name: &str, front: &Front<'_>) -> FilterChain {
    FilterChain {
        filters: vec![manager_filter(name, None, front)],
        ..FilterChain::default()
    }
}

/// The connection manager is in the chain. As a resource of its own (ECDS), which all chains name, it takes Envoy a twentieth of the time for
/// each new chain; but Envoy 1.40 ends, with a segmentation fault, when a listener is refused whose connection manager comes by ECDS and has a
/// filter that does, too (27 of 60 times with a taken port).
fn tls_chain(name: &str, clients: Option<&ClientValidation>, front: &Front<'_>) -> FilterChain {
    let mark = front.global.forwarded.tells_scheme().then(client_tls::mark);
    let manager = manager_filter(name, clients, front);
    FilterChain {
        filters: mark.into_iter().chain([manager]).collect(),
        ..FilterChain::default()
    }
}

fn manager_filter(name: &str, clients: Option<&ClientValidation>, front: &Front<'_>) -> Filter {
    Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: any(manager(name, clients, front)).map(NetworkConfig::TypedConfig),
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
