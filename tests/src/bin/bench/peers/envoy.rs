//! Envoy, with no more than the task asks for.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sluice_tests::envoy::Envoy;
use sluice_tests::log::Log;
use tempfile::TempDir;

use super::Protocol;
use super::plan::Plan;
use super::proxy::{Changed, Proxy, Running};
use super::site::Site;
use crate::plain::address;

const TYPES: &str = "type.googleapis.com/envoy";

struct PlainEnvoy {
    envoy: Envoy,
    folder: TempDir,
    _plan: Plan,
}

pub(crate) async fn start(plan: Plan, site: &Site) -> Result<Running> {
    let folder = tempfile::Builder::new().prefix("envoy-").tempdir()?;
    write_endpoints(&folder, site.pods(plan.protocol))?;
    let listeners = [
        listener("http", plan.http(), &Value::Null, plan.protocol),
        listener("https", plan.https(), &tls(&plan), plan.protocol),
    ];
    let clusters = [cluster(&folder, plan.protocol)];
    let bootstrap = json!({
        "node": { "id": "peer", "cluster": "peer" },
        "static_resources": { "listeners": listeners, "clusters": clusters },
    });
    let mut envoy = Envoy::start(&bootstrap.to_string()).await?;
    envoy.ready().await?;
    Ok(Running {
        http: plan.http(),
        https: plan.https(),
        proxy: Box::new(PlainEnvoy {
            envoy,
            folder,
            _plan: plan,
        }),
    })
}

impl Proxy for PlainEnvoy {
    fn processes(&self) -> Result<Vec<u32>> {
        Ok(vec![self.envoy.pid()])
    }

    fn log(&self) -> &Log {
        self.envoy.log()
    }

    /// A file of endpoints, moved into its place.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a> {
        Box::pin(async { write_endpoints(&self.folder, pods) })
    }
}

fn listener(name: &str, addr: SocketAddr, tls: &Value, protocol: Protocol) -> Value {
    let upgrades = match protocol {
        Protocol::WebSocket => json!([{ "upgrade_type": "websocket" }]),
        _ => json!([]),
    };
    let manager = json!({
        "@type": format!("{TYPES}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": name,
        "upgrade_configs": upgrades,
        "route_config": { "virtual_hosts": [{
            "name": "all",
            "domains": ["*"],
            "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": "pods" } }],
        }] },
        "http_filters": [{
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": format!("{TYPES}.extensions.filters.http.router.v3.Router") },
        }],
    });
    let filter = json!({
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": manager,
    });
    json!({
        "name": name,
        "address": address(addr),
        "filter_chains": [{ "filters": [filter], "transport_socket": tls }],
    })
}

fn tls(plan: &Plan) -> Value {
    let file = |kind: &str| json!({ "filename": plan.certificate(kind) });
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": format!("{TYPES}.extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
            "common_tls_context": {
                "alpn_protocols": [plan.protocol.alpn()],
                "tls_certificates": [{ "certificate_chain": file("crt"), "private_key": file("key") }],
            },
        },
    })
}

fn cluster(folder: &TempDir, protocol: Protocol) -> Value {
    let version = match protocol {
        Protocol::Grpc => "http2_protocol_options",
        _ => "http_protocol_options",
    };
    json!({
        "name": "pods",
        "type": "EDS",
        "eds_cluster_config": { "eds_config": { "path_config_source": {
            "path": endpoints(folder),
            "watched_directory": { "path": folder.path() },
        } } },
        "typed_extension_protocol_options": { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": format!("{TYPES}.extensions.upstreams.http.v3.HttpProtocolOptions"),
            "explicit_http_config": { version: {} },
        } },
    })
}

fn write_endpoints(folder: &TempDir, pods: &[SocketAddr]) -> Result<()> {
    let pods: Vec<Value> = pods
        .iter()
        .map(|pod| json!({ "endpoint": { "address": address(*pod) } }))
        .collect();
    let resource = json!({
        "@type": format!("{TYPES}.config.endpoint.v3.ClusterLoadAssignment"),
        "cluster_name": "pods",
        "endpoints": [{ "lb_endpoints": pods }],
    });
    let new = folder.path().join("new.json");
    fs::write(&new, json!({ "resources": [resource] }).to_string())?;
    fs::rename(&new, endpoints(folder)).context("move the endpoints into their place")
}

fn endpoints(folder: &TempDir) -> PathBuf {
    folder.path().join("endpoints.json")
}
