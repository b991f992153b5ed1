//! The kinds of resources and their names.

use std::fmt;
use std::sync::Arc;

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use prost::Name as _;

/// The name of a resource, unique in its type. Shared, because every stream remembers what its client has.
pub type Name = Arc<str>;

/// Name of the listener for HTTP and of its routes.
pub const HTTP: &str = "http";

/// Type of a resource, in the order in which changes are safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceType {
    /// CDS.
    Cluster,
    /// EDS; named like the cluster.
    Endpoints,
    /// LDS.
    Listener,
    /// RDS.
    Route,
    /// SRDS.
    Scope,
    /// SDS.
    Secret,
    /// ECDS.
    Extension,
}

impl ResourceType {
    /// All of them, in order.
    pub const ALL: [ResourceType; 7] = [
        ResourceType::Cluster,
        ResourceType::Endpoints,
        ResourceType::Listener,
        ResourceType::Route,
        ResourceType::Scope,
        ResourceType::Secret,
        ResourceType::Extension,
    ];

    /// Type URL.
    #[must_use]
    pub fn type_url(self) -> String {
        match self {
            ResourceType::Cluster => Cluster::type_url(),
            ResourceType::Endpoints => ClusterLoadAssignment::type_url(),
            ResourceType::Listener => Listener::type_url(),
            ResourceType::Route => RouteConfiguration::type_url(),
            ResourceType::Scope => ScopedRouteConfiguration::type_url(),
            ResourceType::Secret => Secret::type_url(),
            ResourceType::Extension => TypedExtensionConfig::type_url(),
        }
    }

    /// The type that a client asks for; `None` when it is none of ours.
    #[must_use]
    pub fn from_type_url(url: &str) -> Option<Self> {
        ResourceType::ALL
            .into_iter()
            .find(|kind| kind.type_url() == url)
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResourceType::Cluster => "cluster",
            ResourceType::Endpoints => "endpoints",
            ResourceType::Listener => "listener",
            ResourceType::Route => "route",
            ResourceType::Scope => "scope",
            ResourceType::Secret => "secret",
            ResourceType::Extension => "extension",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_url() {
        for kind in ResourceType::ALL {
            assert_eq!(ResourceType::from_type_url(&kind.type_url()), Some(kind));
        }
        assert_eq!(
            ResourceType::from_type_url("type.googleapis.com/envoy.config.route.v3.VirtualHost"),
            None
        );
    }
}
