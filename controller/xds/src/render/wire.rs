//! Protobuf values that every renderer needs.

use std::net::{IpAddr, SocketAddr};

use envoy_types::pb::envoy::config::core::v3::address::Address as AddressKind;
use envoy_types::pb::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use envoy_types::pb::envoy::config::core::v3::socket_address::{PortSpecifier, Protocol};
use envoy_types::pb::envoy::config::core::v3::{
    Address, AggregatedConfigSource, ApiVersion, ConfigSource, SocketAddress, TypedExtensionConfig,
};
use envoy_types::pb::google::protobuf::{Any, BoolValue, Duration, UInt32Value};
use envoy_types::util::pack_any;
use prost::{Message, Name};

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
    Some(Duration { seconds: 0, nanos: millis * 1_000_000 })
}

/// Also longer than a second.
pub(super) fn millis_long(millis: u32) -> Option<Duration> {
    let nanos = i32::try_from(millis % 1000).unwrap_or_default() * 1_000_000;
    Some(Duration { seconds: i64::from(millis / 1000), nanos })
}

pub(super) fn any<M: Name + Message>(message: M) -> Option<Any> {
    Some(pack_any(message))
}

pub(super) fn extension<M: Name + Message>(name: &str, config: M) -> TypedExtensionConfig {
    TypedExtensionConfig { name: name.to_owned(), typed_config: any(config) }
}

pub(super) fn address(address: SocketAddr) -> Address {
    host_address(&address.ip().to_string(), address.port())
}

pub(super) fn host_address(host: &str, port: u16) -> Address {
    of_protocol(host, port, Protocol::Tcp)
}

/// What is listened on, for connections or for datagrams.
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
    ConfigSource { initial_fetch_timeout: seconds(0), ..ads() }
}
