//! The smallest configurations that balance over the pods: no headers, no logs, no limits. A load takes their connections as it does
//! ours, for a thousand requests each.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// An Envoy's.
pub(crate) fn bootstrap(listen: SocketAddr, pods: &[SocketAddr]) -> String {
    let endpoints: Vec<Value> = pods
        .iter()
        .map(|pod| json!({ "endpoint": { "address": address(*pod) } }))
        .collect();
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "plain",
        "common_http_protocol_options": { "max_requests_per_connection": 1000 },
        "route_config": { "virtual_hosts": [{
            "name": "all",
            "domains": ["*"],
            "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": "pods" } }],
        }] },
        "http_filters": [{
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        }],
    });
    let filter = json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": manager,
    });
    json!({ "static_resources": {
        "listeners": [{
            "name": "http",
            "address": address(listen),
            "filter_chains": [{ "filters": [filter] }],
        }],
        "clusters": [{
            "name": "pods",
            "type": "STATIC",
            "load_assignment": {
                "cluster_name": "pods",
                "endpoints": [{ "lb_endpoints": endpoints }],
            },
        }],
    } })
    .to_string()
}

/// An address of Envoy's.
pub(crate) fn address(addr: SocketAddr) -> Value {
    json!({ "socket_address": { "address": addr.ip(), "port_value": addr.port() } })
}

/// An nginx's.
pub(crate) fn nginx_conf(listen: SocketAddr, pods: &[SocketAddr]) -> String {
    let servers: String = pods.iter().map(|pod| format!("server {pod};\n")).collect();
    format!(
        "worker_processes 1;\n\
         http {{\n\
         keepalive_requests 1000;\n\
         upstream pods {{\n{servers}keepalive 320;\nkeepalive_requests 10000;\n}}\n\
         server {{\n\
         listen {listen};\n\
         location / {{\n\
         proxy_pass http://pods;\n\
         proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\n\
         }}\n}}\n}}\n"
    )
}
