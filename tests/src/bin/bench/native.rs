//! What Sluice is compared with: an Envoy with the same pods, its own round robin and no filter.

use std::net::SocketAddr;

use serde_json::{Value, json};

const HTTP: &str =
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER: &str = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

/// A static bootstrap: one listener, one route, one cluster.
pub(crate) fn bootstrap(listen: SocketAddr, pods: &[SocketAddr]) -> String {
    let endpoints = pods.iter().map(|pod| json!({ "endpoint": { "address": address(*pod) } }));
    let cluster = json!({
        "name": "web",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": "web",
            "endpoints": [{ "lb_endpoints": endpoints.collect::<Vec<_>>() }],
        },
    });
    let manager = json!({
        "@type": HTTP,
        "stat_prefix": "http",
        "route_config": { "virtual_hosts": [{
            "name": "web",
            "domains": ["*"],
            "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": "web" } }],
        }] },
        "http_filters": [{ "name": "router", "typed_config": { "@type": ROUTER } }],
    });
    let listener = json!({
        "name": "http",
        "address": address(listen),
        "filter_chains": [{ "filters": [{ "name": "http", "typed_config": manager }] }],
    });
    json!({ "static_resources": { "listeners": [listener], "clusters": [cluster] } }).to_string()
}

fn address(addr: SocketAddr) -> Value {
    json!({ "socket_address": { "address": addr.ip(), "port_value": addr.port() } })
}
