//! The kinds of resources that an Envoy asks for.

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use prost::Name;

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// CDS.
    Cluster,
    /// EDS.
    Endpoints,
    /// LDS.
    Listener,
    /// RDS.
    Route,
    /// SRDS.
    Scope,
    /// ECDS.
    Extension,
    /// SDS.
    Secret,
}

impl Kind {
    /// All of them, in the order in which an Envoy asks for them.
    pub const ALL: [Kind; 7] = [
        Kind::Cluster,
        Kind::Endpoints,
        Kind::Listener,
        Kind::Route,
        Kind::Scope,
        Kind::Extension,
        Kind::Secret,
    ];

    /// Type URL.
    pub(super) fn type_url(self) -> String {
        match self {
            Kind::Cluster => Cluster::type_url(),
            Kind::Endpoints => ClusterLoadAssignment::type_url(),
            Kind::Listener => Listener::type_url(),
            Kind::Route => RouteConfiguration::type_url(),
            Kind::Scope => ScopedRouteConfiguration::type_url(),
            Kind::Extension => TypedExtensionConfig::type_url(),
            Kind::Secret => Secret::type_url(),
        }
    }

    /// The kind of a type URL, without an allocation: a client asks for each resource.
    pub(super) fn from_type_url(url: &[u8]) -> Option<Kind> {
        let name = url.rsplit(|byte| *byte == b'/').next()?;
        Some(match name {
            b"envoy.config.cluster.v3.Cluster" => Kind::Cluster,
            b"envoy.config.endpoint.v3.ClusterLoadAssignment" => Kind::Endpoints,
            b"envoy.config.listener.v3.Listener" => Kind::Listener,
            b"envoy.config.route.v3.RouteConfiguration" => Kind::Route,
            b"envoy.config.route.v3.ScopedRouteConfiguration" => Kind::Scope,
            b"envoy.config.core.v3.TypedExtensionConfig" => Kind::Extension,
            b"envoy.extensions.transport_sockets.tls.v3.Secret" => Kind::Secret,
            _ => return None,
        })
    }

    /// All resources of the kind are asked for, not some by name.
    pub(super) fn is_wildcard(self) -> bool {
        matches!(self, Kind::Cluster | Kind::Listener | Kind::Scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_type_url() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(Kind::from_type_url(kind.type_url().as_bytes()), Some(kind));
            assert_eq!(kind as usize, place);
        }
        assert_eq!(Kind::from_type_url(b"type.googleapis.com/other"), None);
    }
}
