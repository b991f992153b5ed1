//! Hosts whose TLS ends at the pods: a filter chain that looks at nothing but the name in the handshake.

use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{Filter, FilterChain};
use envoy_types::pb::envoy::extensions::filters::network::tcp_proxy::v3::TcpProxy;
use envoy_types::pb::envoy::extensions::filters::network::tcp_proxy::v3::tcp_proxy::ClusterSpecifier;
use sluice_ir::{BackendId, GlobalConfig};

use super::access_log;
use super::proto::any;
use crate::Settings;

/// The bytes go on as they came: no PROXY header is added, and a connection that says nothing for an hour ends (Envoy's own
/// limit).
pub(super) fn chain(
    backend: &BackendId,
    global: &GlobalConfig,
    settings: &Settings,
) -> FilterChain {
    let proxy = TcpProxy {
        stat_prefix: "passthrough".to_owned(),
        cluster_specifier: Some(ClusterSpecifier::Cluster(backend.as_str().to_owned())),
        access_log: access_log::of_connections(&global.log, settings)
            .into_iter()
            .collect(),
        ..TcpProxy::default()
    };
    let filter = Filter {
        name: "envoy.filters.network.tcp_proxy".to_owned(),
        config_type: any(proxy).map(ConfigType::TypedConfig),
    };
    FilterChain {
        name: format!("passthrough {}", backend.as_str()),
        filters: vec![filter],
        ..FilterChain::default()
    }
}
