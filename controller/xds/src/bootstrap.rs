//! Bootstrap of Envoy: its node id, its admin socket, and the source of everything else.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use sluice_filter_config::{Control, Host, PluginConfig};

use crate::render::FILTER;
use crate::settings::{AUTH_CLUSTER, FIREWALL_CLUSTER, XDS_CLUSTER};
use crate::{CONTROLLER_CLUSTER, FILTER_METADATA, FilterForm, MODULE_FORM, MODULE_NAME, MutualTls};

const MODULE_EXTENSION: &str =
    "envoy.extensions.bootstrap.dynamic_modules.v3.DynamicModuleBootstrapExtension";
const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
/// More than a machine holds: only because Envoy warns at every start when there is no limit.
const UNLIMITED: u64 = 1_000_000;

/// Settings of a bootstrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapSettings {
    /// Tells one Envoy from another.
    pub node_id: String,
    /// Locality; the filter asks Envoy for it.
    pub zone: Option<String>,
    /// The unix socket of the admin interface. Who can open it can do everything, so only its owner can.
    pub admin_socket: PathBuf,
    /// Address of the controller.
    pub controller: ControllerAddress,
    /// Form of the filter that this Envoy takes.
    pub filter: FilterForm,
    /// Connections of clients, where it is known how many files there may be: without file descriptors no client is served.
    pub max_connections: Option<u64>,
    /// Bytes of memory that Envoy may have, where that is known: before they are used up, it takes no more requests.
    pub memory: Option<u64>,
}

/// Address of the controller for xDS and the filter's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerAddress {
    /// A unix socket.
    Unix(PathBuf),
    /// An address: an IP, or a name that is looked up again and again.
    Tcp {
        /// Name or IP.
        host: String,
        /// Port.
        port: u16,
        /// Without it clients are not authenticated: loopback, or behind something that does.
        tls: Option<MutualTls>,
    },
}

/// The bootstrap, as Envoy reads it from a JSON file.
#[must_use]
pub fn bootstrap(settings: &BootstrapSettings) -> Value {
    json!({
        "node": node(settings),
        "bootstrap_extensions": match settings.filter {
            FilterForm::Module => json!([module(settings.zone.as_deref())]),
            FilterForm::Wasm => json!([]),
        },
        "admin": {"address": {"pipe": {"path": settings.admin_socket, "mode": 0o600}}},
        "dynamic_resources": {
            "ads_config": ads(),
            // No timeout: a listener without routes, or routes without clusters, is worse than a late one.
            "lds_config": {"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"},
            "cds_config": {"ads": {}, "resource_api_version": "V3", "initial_fetch_timeout": "0s"},
        },
        "static_resources": {
            "clusters": [
                cluster(XDS_CLUSTER, http2(), &settings.controller),
                without_limits(cluster(AUTH_CLUSTER, http2(), &settings.controller)),
                without_limits(cluster(FIREWALL_CLUSTER, http2(), &settings.controller)),
                cluster(CONTROLLER_CLUSTER, json!({"http_protocol_options": {}}), &settings.controller),
            ],
        },
        "overload_manager": overload_manager(settings),
        // Otherwise Envoy's main thread goes through all statistics every 5 s, which are a million with 10,000 clusters.
        "stats_flush_on_admin": true,
        "layered_runtime": {"layers": [{"name": "sluice", "static_layer": runtime()}]},
    })
}

/// As many spans at once as ingress-nginx sends (`otel-max-export-batch-size`); Envoy's own number is 5. And patterns up to the
/// size that translation lets through; Envoy's own limit is 100 instructions, which nine words fill. And a header that was sent
/// several times is compared with commas between: compared one by one, a second value would get round what the first one is not.
fn runtime() -> Value {
    json!({
        "tracing.opentelemetry.min_flush_spans": 512,
        "re2.max_program_size.error_level": sluice_pattern::MOST_INSTRUCTIONS,
        "envoy.reloadable_features.match_headers_individually": false,
    })
}

/// The smallest bootstrap of an Envoy that loads the filter as a module.
#[must_use]
pub fn module_bootstrap() -> Value {
    json!({"bootstrap_extensions": [module(None)]})
}

fn node(settings: &BootstrapSettings) -> Value {
    let mut node = json!({"id": settings.node_id, "cluster": "sluice"});
    if let Some(zone) = &settings.zone {
        node["locality"] = json!({"zone": zone});
    }
    if settings.filter == FilterForm::Module {
        node["metadata"] = json!({FILTER_METADATA: MODULE_FORM});
    }
    node
}

/// The filter as a module asks for its log in the main thread, from the start to the end of the process.
fn module(zone: Option<&str>) -> Value {
    let control = Control {
        upstream: CONTROLLER_CLUSTER.to_owned(),
        authority: "sluice".to_owned(),
    };
    let config = PluginConfig {
        host: Some(Host::ManagedEnvoy),
        zone: zone.map(str::to_owned),
        control: Some(control),
        ..PluginConfig::empty()
    };
    let config = String::from_utf8_lossy(&config.to_json()).into_owned();
    json!({
        "name": FILTER,
        "typed_config": {
            "@type": format!("type.googleapis.com/{MODULE_EXTENSION}"),
            "dynamic_module_config": {"name": MODULE_NAME, "do_not_close": true},
            "extension_name": FILTER,
            "extension_config": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config},
        },
    })
}

/// Without a policy of its own, Envoy waits up to 30 s before it looks for a controller that went away.
fn ads() -> Value {
    let retry = json!({"retry_back_off": {"base_interval": "0.1s", "max_interval": "1s"}});
    json!({
        "api_type": "DELTA_GRPC",
        "transport_api_version": "V3",
        "set_node_on_first_message_only": true,
        "grpc_services": [{"envoy_grpc": {"cluster_name": XDS_CLUSTER, "retry_policy": retry}}],
    })
}

/// Asks a silent controller whether it is still there.
fn http2() -> Value {
    json!({"http2_protocol_options": {"connection_keepalive": {"interval": "5s", "timeout": "2s"}}})
}

fn cluster(name: &str, protocol: Value, controller: &ControllerAddress) -> Value {
    let address = match controller {
        ControllerAddress::Unix(path) => json!({"pipe": {"path": path}}),
        ControllerAddress::Tcp { host, port, .. } => {
            json!({"socket_address": {"address": host, "port_value": port}})
        }
    };
    let endpoints = json!([{"lb_endpoints": [{"endpoint": {"address": address}}]}]);
    let options = json!({
        "@type": format!("type.googleapis.com/{HTTP_OPTIONS}"),
        "explicit_http_config": protocol,
    });
    let mut cluster = json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": endpoints},
        "typed_extension_protocol_options": {HTTP_OPTIONS: options},
    });
    if let ControllerAddress::Tcp { host, tls, .. } = controller {
        cluster["upstream_connection_options"] = json!({
            "tcp_keepalive": {"keepalive_time": 10, "keepalive_interval": 5, "keepalive_probes": 3},
        });
        if host.parse::<IpAddr>().is_err() {
            cluster["type"] = "STRICT_DNS".into();
            // Both, and whichever answers: a name with an IPv6 address says nothing about who listens there.
            cluster["dns_lookup_family"] = "ALL".into();
        }
        if let Some(tls) = tls {
            cluster["transport_socket"] = tls.transport_socket();
        }
    }
    cluster
}

/// As many questions at a time as there are requests.
fn without_limits(mut cluster: Value) -> Value {
    let most = u32::MAX;
    let thresholds =
        json!({"max_connections": most, "max_pending_requests": most, "max_requests": most});
    cluster["circuit_breakers"] = json!({"thresholds": [thresholds]});
    cluster
}

/// Close to the limit of memory, heaps shrink; then the streams that hold most of it end, and new requests get 503.
fn overload_manager(settings: &BootstrapSettings) -> Value {
    const HEAP: &str = "envoy.resource_monitors.fixed_heap";
    let connections = json!({
        "name": "envoy.resource_monitors.global_downstream_max_connections",
        "typed_config": {
            "@type": resource_monitor("downstream_connections.v3.DownstreamConnectionsConfig"),
            "max_active_downstream_connections": settings.max_connections.unwrap_or(UNLIMITED),
        },
    });
    let Some(memory) = settings.memory else {
        return json!({"resource_monitors": [connections]});
    };
    let heap = json!({
        "name": HEAP,
        "typed_config": {
            "@type": resource_monitor("fixed_heap.v3.FixedHeapConfig"),
            "max_heap_size_bytes": memory,
        },
    });
    let action = |name: &str, trigger: Value| {
        let mut trigger = trigger;
        trigger["name"] = HEAP.into();
        json!({"name": format!("envoy.overload_actions.{name}"), "triggers": [trigger]})
    };
    json!({
        "refresh_interval": "0.25s",
        "resource_monitors": [connections, heap],
        "buffer_factory_config": {"minimum_account_to_track_power_of_two": 20},
        "actions": [
            action("shrink_heap", json!({"threshold": {"value": 0.8}})),
            action("reset_high_memory_stream", json!({
                "scaled": {"scaling_threshold": 0.85, "saturation_threshold": 0.95},
            })),
            action("stop_accepting_requests", json!({"threshold": {"value": 0.95}})),
        ],
    })
}

fn resource_monitor(message: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.resource_monitors.{message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(controller: ControllerAddress) -> Value {
        let admin_socket = "/run/admin.sock".into();
        let settings = BootstrapSettings {
            node_id: "one".to_owned(),
            zone: None,
            admin_socket,
            controller,
            filter: FilterForm::Wasm,
            max_connections: None,
            memory: Some(1 << 30),
        };
        bootstrap(&settings)["static_resources"]["clusters"].take()
    }

    fn tcp(host: &str, tls: Option<MutualTls>) -> ControllerAddress {
        ControllerAddress::Tcp {
            host: host.to_owned(),
            port: 18000,
            tls,
        }
    }

    #[test]
    fn all_clusters_lead_to_the_controller() {
        let clusters = clusters(ControllerAddress::Unix("/run/controller.sock".into()));
        for (position, name) in [
            (0, "sluice_xds"),
            (1, "sluice_auth"),
            (2, "sluice_firewall"),
            (3, "sluice_controller"),
        ] {
            let cluster = &clusters[position];
            assert_eq!(cluster["name"], name);
            let endpoint =
                &cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"];
            assert_eq!(endpoint["address"]["pipe"]["path"], "/run/controller.sock");
            assert_eq!(
                cluster["upstream_connection_options"],
                Value::Null,
                "a unix socket has no TCP options"
            );
        }
    }

    #[test]
    fn memory_is_limited_where_its_size_is_known() {
        let manager = |memory| {
            let settings = BootstrapSettings {
                node_id: "one".to_owned(),
                zone: None,
                admin_socket: "/run/admin.sock".into(),
                controller: ControllerAddress::Unix("/run/controller.sock".into()),
                filter: FilterForm::Wasm,
                max_connections: None,
                memory,
            };
            bootstrap(&settings)["overload_manager"].take()
        };
        let heap = manager(Some(1 << 30))["resource_monitors"][1]["typed_config"].take();
        assert_eq!(heap["max_heap_size_bytes"], 1 << 30);
        assert_eq!(manager(None)["actions"], Value::Null);
    }

    #[test]
    fn a_controller_on_tcp_is_kept_alive() {
        let clusters = clusters(tcp("127.0.0.1", None));
        assert_eq!(
            clusters[0]["upstream_connection_options"]["tcp_keepalive"]["keepalive_time"],
            10
        );
    }

    #[test]
    fn a_name_is_looked_up_and_an_ip_is_not() {
        assert_eq!(
            clusters(tcp("sluice.sluice-system.svc", None))[0]["type"],
            "STRICT_DNS"
        );
        assert_eq!(clusters(tcp("::1", None))[0]["type"], "STATIC");
    }

    #[test]
    fn all_clusters_authenticate_when_one_does() {
        let tls = MutualTls::new("/etc/sluice", "sluice.test", "/run/sluice");
        let clusters = clusters(tcp("sluice.test", Some(tls)));
        for position in [0, 1, 2, 3] {
            assert_eq!(
                clusters[position]["transport_socket"]["name"],
                "envoy.transport_sockets.tls"
            );
        }
    }
}
