//! Resources that a resource leads to: what an Envoy asks for next.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use envoy_types::pb::envoy::config::core::v3::TransportSocket;
use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType as SocketConfig;
use envoy_types::pb::envoy::config::listener::v3::{FilterChain, Listener};
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType as FilterConfig;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, UpstreamTlsContext,
};
use prost::{Message, Name};

use super::kind::Kind;
use super::wire::{self, Value};

/// Field numbers of `Cluster`, and its type that asks for endpoints. Each client reads each cluster, and a decoded one is large.
const TYPE: u64 = 2;
const EDS: Value<'_> = Value::Number(3);
const TRANSPORT_SOCKET: u64 = 24;
const TRANSPORT_SOCKET_MATCHES: u64 = 43;
/// Of `TransportSocketMatch`.
const MATCHED_SOCKET: u64 = 3;
/// Of `ScopedRouteConfiguration`.
const ROUTE_CONFIGURATION_NAME: u64 = 2;

/// A resource that another leads to. Of scopes there are all or none: their name is empty.
pub(super) type Reference = (Kind, String);

/// References of a resource with this name and content.
pub(super) fn of(kind: Kind, name: &str, body: &[u8]) -> Result<BTreeSet<Reference>> {
    let mut found = BTreeSet::new();
    match kind {
        Kind::Cluster => cluster(name, body, &mut found)?,
        Kind::Listener => listener(body, &mut found)?,
        Kind::Scope => {
            let routes = wire::last(body, ROUTE_CONFIGURATION_NAME);
            if !routes.is_empty() {
                found.insert((Kind::Route, std::str::from_utf8(routes)?.to_owned()));
            }
        }
        Kind::Endpoints | Kind::Route | Kind::Extension | Kind::Secret => {}
    }
    Ok(found)
}

fn cluster(name: &str, body: &[u8], found: &mut BTreeSet<Reference>) -> Result<()> {
    for field in wire::fields(body) {
        match field.number {
            // Ours are all named as their clusters.
            TYPE if field.value == EDS => drop(found.insert((Kind::Endpoints, name.to_owned()))),
            TRANSPORT_SOCKET => socket(&TransportSocket::decode(field.bytes())?, found)?,
            TRANSPORT_SOCKET_MATCHES => {
                let matched = wire::last(field.bytes(), MATCHED_SOCKET);
                socket(&TransportSocket::decode(matched)?, found)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn listener(body: &[u8], found: &mut BTreeSet<Reference>) -> Result<()> {
    let listener = Listener::decode(body).context("a listener")?;
    let chains = listener.filter_chains.iter();
    chains
        .chain(listener.default_filter_chain.as_ref())
        .try_for_each(|chain| filter_chain(chain, found))
}

fn filter_chain(chain: &FilterChain, found: &mut BTreeSet<Reference>) -> Result<()> {
    if let Some(transport) = &chain.transport_socket {
        socket(transport, found)?;
    }
    for filter in &chain.filters {
        if let Some(FilterConfig::TypedConfig(any)) = &filter.config_type
            && any.type_url == HttpConnectionManager::type_url()
        {
            manager(&HttpConnectionManager::decode(any.value.as_slice())?, found);
        }
    }
    Ok(())
}

fn manager(manager: &HttpConnectionManager, found: &mut BTreeSet<Reference>) {
    match &manager.route_specifier {
        Some(RouteSpecifier::Rds(rds)) => {
            found.insert((Kind::Route, rds.route_config_name.clone()));
        }
        Some(RouteSpecifier::ScopedRoutes(_)) => drop(found.insert((Kind::Scope, String::new()))),
        Some(RouteSpecifier::RouteConfig(_)) | None => {}
    }
    for filter in &manager.http_filters {
        if let Some(ConfigType::ConfigDiscovery(_)) = &filter.config_type {
            found.insert((Kind::Extension, filter.name.clone()));
        }
    }
}

fn socket(socket: &TransportSocket, found: &mut BTreeSet<Reference>) -> Result<()> {
    let Some(SocketConfig::TypedConfig(any)) = &socket.config_type else {
        return Ok(());
    };
    let common = if any.type_url == UpstreamTlsContext::type_url() {
        UpstreamTlsContext::decode(any.value.as_slice())?.common_tls_context
    } else if any.type_url == DownstreamTlsContext::type_url() {
        DownstreamTlsContext::decode(any.value.as_slice())?.common_tls_context
    } else {
        None
    };
    common.iter().for_each(|common| secrets(common, found));
    Ok(())
}

fn secrets(common: &CommonTlsContext, found: &mut BTreeSet<Reference>) {
    let authorities = match &common.validation_context_type {
        Some(ValidationContextType::ValidationContextSdsSecretConfig(config)) => Some(config),
        Some(ValidationContextType::CombinedValidationContext(combined)) => {
            combined.validation_context_sds_secret_config.as_ref()
        }
        _ => None,
    };
    let certificates = common.tls_certificate_sds_secret_configs.iter();
    for config in certificates.chain(authorities) {
        // One without a source stands in the bootstrap.
        if config.sds_config.is_some() {
            found.insert((Kind::Secret, config.name.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use envoy_types::pb::envoy::config::cluster::v3::Cluster;
    use envoy_types::pb::envoy::config::cluster::v3::cluster::{
        ClusterDiscoveryType, DiscoveryType,
    };

    fn cluster(kind: DiscoveryType) -> Vec<u8> {
        let cluster = Cluster {
            name: "a".to_owned(),
            cluster_discovery_type: Some(ClusterDiscoveryType::Type(kind.into())),
            ..Cluster::default()
        };
        cluster.encode_to_vec()
    }

    #[test]
    fn a_cluster_leads_to_endpoints_if_it_is_one_of_eds() {
        let of = |kind| of(Kind::Cluster, "a", &cluster(kind)).unwrap();
        let endpoints = BTreeSet::from([(Kind::Endpoints, "a".to_owned())]);
        assert_eq!(of(DiscoveryType::Eds), endpoints);
        assert_eq!(of(DiscoveryType::Static), BTreeSet::new());
    }

    #[test]
    fn a_listener_that_is_none_is_an_error() {
        assert!(of(Kind::Listener, "http", b"\xff\xff").is_err());
    }
}
