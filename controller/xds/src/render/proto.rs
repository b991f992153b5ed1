//! Protobuf values that every renderer needs.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use envoy_types::pb::envoy::config::core::v3::address::Address as AddressKind;
use envoy_types::pb::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use envoy_types::pb::envoy::config::core::v3::socket_address::{PortSpecifier, Protocol};
use envoy_types::pb::envoy::config::core::v3::{
    Address, AggregatedConfigSource, ApiVersion, CidrRange, ConfigSource, Metadata, SocketAddress,
    TypedExtensionConfig,
};
use envoy_types::pb::envoy::config::route::v3::{FilterConfig, Route, VirtualHost};
use envoy_types::pb::google::protobuf::{Any, BoolValue, Duration, UInt32Value};
use envoy_types::pb::xds::core::v3::TypedExtensionConfig as XdsExtension;
use envoy_types::util::pack_any;
use prost::{Message, Name};
use sluice_ir::Cidr;

/// How many certificates there may be above a leaf, of which nginx's number leaves out the authority (measured).
pub(super) fn verify_depth(between: u32) -> Option<UInt32Value> {
    /// Envoy refuses what would verify longer chains of certificates, with everything around it.
    const DEEPEST: u32 = 100;
    number(between.saturating_add(1).min(DEEPEST))
}

pub(super) fn yes() -> Option<BoolValue> {
    Some(BoolValue { value: true })
}

pub(super) fn number(value: u32) -> Option<UInt32Value> {
    Some(UInt32Value { value })
}

pub(super) fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration { seconds, nanos: 0 })
}

pub(super) fn millis(millis: i32) -> Option<Duration> {
    Some(Duration {
        seconds: 0,
        nanos: millis * 1_000_000,
    })
}

/// Also longer than a second.
pub(super) fn millis_long(millis: u32) -> Option<Duration> {
    let nanos = i32::try_from(millis % 1000).unwrap_or_default() * 1_000_000;
    Some(Duration {
        seconds: i64::from(millis / 1000),
        nanos,
    })
}

pub(super) fn any<M: Name + Message>(message: M) -> Option<Any> {
    Some(pack_any(message))
}

/// For a filter that is switched off elsewhere.
pub(super) fn switched_on() -> Option<Any> {
    any(FilterConfig {
        config: Some(Any::default()),
        ..FilterConfig::default()
    })
}

pub(super) fn extension<M: Name + Message>(name: &str, config: M) -> TypedExtensionConfig {
    TypedExtensionConfig {
        name: name.to_owned(),
        typed_config: any(config),
    }
}

/// The same under the name that matchers have for it.
pub(super) fn xds_extension<M: Name + Message>(name: &str, config: M) -> XdsExtension {
    XdsExtension {
        name: name.to_owned(),
        typed_config: any(config),
    }
}

pub(super) fn cidr_range(cidr: Cidr) -> CidrRange {
    CidrRange {
        address_prefix: cidr.address().to_string(),
        prefix_len: number(u32::from(cidr.prefix_len())),
    }
}

/// The addresses of a list: those of IPv4 also as IPv6 writes them (`::ffff:10.0.0.1`), which a PROXY header or a forwarded one may
/// do. To Envoy they are others.
pub(super) fn address_ranges(cidrs: &[Cidr]) -> Vec<CidrRange> {
    let mapped = cidrs.iter().filter_map(|cidr| match cidr.address() {
        IpAddr::V4(address) => Some(CidrRange {
            address_prefix: address.to_ipv6_mapped().to_string(),
            prefix_len: number(96 + u32::from(cidr.prefix_len())),
        }),
        IpAddr::V6(_) => None,
    });
    cidrs
        .iter()
        .copied()
        .map(cidr_range)
        .chain(mapped)
        .collect()
}

/// A virtual host, whose routes have maps with several entries: each is written by itself, in order, and whoever decodes them
/// puts them together.
pub(super) fn encoded_host(mut host: VirtualHost) -> Vec<u8> {
    /// The field `routes` of a `VirtualHost`.
    const ROUTES: u32 = 3;
    let routes = std::mem::take(&mut host.routes);
    let mut bytes = host.encode_to_vec();
    routes.into_iter().for_each(|route| {
        prost::encoding::bytes::encode(ROUTES, &encoded_route(route), &mut bytes);
    });
    bytes
}

fn encoded_route(mut route: Route) -> Vec<u8> {
    let filters = BTreeMap::from_iter(std::mem::take(&mut route.typed_per_filter_config));
    let metadata = route
        .metadata
        .take()
        .map(|metadata| metadata.filter_metadata)
        .unwrap_or_default();
    let mut bytes = route.encode_to_vec();
    let filters = filters.into_iter().map(|(name, config)| Route {
        typed_per_filter_config: [(name, config)].into(),
        ..Route::default()
    });
    let metadata = BTreeMap::from_iter(metadata)
        .into_iter()
        .map(|(name, fields)| {
            let metadata = Metadata {
                filter_metadata: [(name, fields)].into(),
                ..Metadata::default()
            };
            Route {
                metadata: Some(metadata),
                ..Route::default()
            }
        });
    filters
        .chain(metadata)
        .for_each(|part| bytes.extend(part.encode_to_vec()));
    bytes
}

pub(super) fn address(address: SocketAddr) -> Address {
    host_address(&address.ip().to_string(), address.port())
}

pub(super) fn host_address(host: &str, port: u16) -> Address {
    of_protocol(host, port, Protocol::Tcp)
}

/// Address to listen on, for connections or for datagrams.
pub(super) fn socket(ip: IpAddr, port: u16, protocol: Protocol) -> Address {
    of_protocol(&ip.to_string(), port, protocol)
}

fn of_protocol(host: &str, port: u16, protocol: Protocol) -> Address {
    Address {
        address: Some(AddressKind::SocketAddress(SocketAddress {
            protocol: protocol.into(),
            address: host.to_owned(),
            port_specifier: Some(PortSpecifier::PortValue(u32::from(port))),
            ..SocketAddress::default()
        })),
    }
}

/// From the stream on which everything comes.
pub(super) fn ads() -> ConfigSource {
    ConfigSource {
        resource_api_version: ApiVersion::V3.into(),
        config_source_specifier: Some(ConfigSourceSpecifier::Ads(AggregatedConfigSource {})),
        ..ConfigSource::default()
    }
}

/// As [`ads`], for what makes no sense without it: Envoy waits for as long as it takes, and does not go on without.
pub(super) fn ads_awaited() -> ConfigSource {
    ConfigSource {
        initial_fetch_timeout: seconds(0),
        ..ads()
    }
}
