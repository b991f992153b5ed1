//! The backends as ingress-nginx shows them: the JSON of its `/configuration/backends` (balancers.md, section 12).
//!
//! A read model: people and `sluice dbg` read it, no data plane does.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::Service;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sluice_ir::{Backend, BackendId, Config, LoadBalance};
use sluice_translate::{ObjectKey, Resources};

/// The subset size is there even when nothing is hashed.
const SUBSET_SIZE: u32 = 3;

/// One upstream. Empty and false values are left out where ingress-nginx leaves them out.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Upstream {
    name: String,
    service: Value,
    port: Value,
    #[serde(rename = "sslPassthrough")]
    ssl_passthrough: bool,
    endpoints: Vec<Address>,
    #[serde(rename = "sessionAffinityConfig")]
    session_affinity: Value,
    #[serde(rename = "upstreamHashByConfig")]
    upstream_hash_by: Map<String, Value>,
    #[serde(rename = "load-balance", skip_serializing_if = "Option::is_none")]
    load_balance: Option<&'static str>,
    #[serde(rename = "noServer")]
    no_server: bool,
    #[serde(rename = "trafficShapingPolicy")]
    traffic_shaping: Value,
}

#[derive(Debug, PartialEq, Serialize)]
struct Address {
    address: String,
    port: String,
}

/// Every backend, by name.
pub(crate) fn upstreams(config: &Config, resources: &Resources) -> Vec<Upstream> {
    config.backends.iter().map(|(id, backend)| upstream(id, backend, resources)).collect()
}

fn upstream(id: &BackendId, backend: &Backend, resources: &Resources) -> Upstream {
    let mut parts = id.as_str().splitn(3, '/').map(str::to_owned);
    let mut part = || parts.next().unwrap_or_default();
    let (namespace, service, port) = (part(), part(), part());
    let name = match port.as_str() {
        "first" => "upstream-default-backend".to_owned(),
        port => format!("{namespace}-{service}-{port}"),
    };
    let service = resources.service(&ObjectKey::new(namespace, service));
    Upstream {
        name,
        service: described(service),
        port: port.parse::<u16>().map_or_else(|_| port.into(), Value::from),
        ssl_passthrough: false,
        endpoints: backend.endpoints.iter().map(|endpoint| address(&endpoint.address)).collect(),
        session_affinity: json!({"name": "", "mode": "", "cookieSessionAffinity": {"name": ""}}),
        upstream_hash_by: Map::from_iter([("upstream-hash-by-subset-size".to_owned(), SUBSET_SIZE.into())]),
        load_balance: load_balance(&backend.load_balance),
        no_server: false,
        traffic_shaping: json!({
            "weight": 0, "weightTotal": 0, "header": "", "headerValue": "", "headerPattern": "", "cookie": "",
        }),
    }
}

/// Only the spec of a Service is shown.
fn described(service: Option<&Service>) -> Value {
    let spec =
        service.and_then(|service| serde_json::to_value(&service.spec).ok()).filter(|spec| !spec.is_null());
    json!({
        "metadata": {"creationTimestamp": null},
        "spec": spec.unwrap_or_else(|| json!({})),
        "status": {"loadBalancer": {}},
    })
}

fn address(socket: &SocketAddr) -> Address {
    Address { address: socket.ip().to_string(), port: socket.port().to_string() }
}

fn load_balance(algorithm: &LoadBalance) -> Option<&'static str> {
    match algorithm {
        LoadBalance::RoundRobin => Some("round_robin"),
    }
}

#[cfg(test)]
mod tests {
    use sluice_translate::{Object, Options, translate};

    use super::*;

    fn world() -> Resources {
        let port = json!({"port": 80});
        let documents = [
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [port]}}),
            json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
                "ports": [{"port": 8080}], "endpoints": [{"addresses": ["10.0.0.1"]}]}),
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
            "spec": {"ingressClassName": "nginx", "rules": [{"http": {"paths": [
                {"path": "/", "backend": {"service": {"name": "web", "port": {"number": 80}}}},
                {"path": "/x", "backend": {"service": {"name": "gone", "port": {"name": "http"}}}},
            ]}}]}}),
        ];
        let mut resources = Resources::default();
        for document in documents {
            resources.apply(Object::from_value(document).unwrap());
        }
        resources
    }

    fn shown() -> Value {
        let resources = world();
        let options = Options { class_is_implied: true, ..Options::default() };
        let translation = translate(&resources, &options);
        serde_json::to_value(upstreams(translation.config(), &resources)).unwrap()
    }

    #[test]
    fn a_backend_is_shown_as_ingress_nginx_shows_it() {
        let expected = json!({
            "name": "default-web-80",
            "service": {
                "metadata": {"creationTimestamp": null},
                "spec": {"ports": [{"port": 80}]},
                "status": {"loadBalancer": {}},
            },
            "port": 80,
            "sslPassthrough": false,
            "endpoints": [{"address": "10.0.0.1", "port": "8080"}],
            "sessionAffinityConfig": {"name": "", "mode": "", "cookieSessionAffinity": {"name": ""}},
            "upstreamHashByConfig": {"upstream-hash-by-subset-size": 3},
            "load-balance": "round_robin",
            "noServer": false,
            "trafficShapingPolicy": {
                "weight": 0, "weightTotal": 0, "header": "", "headerValue": "", "headerPattern": "", "cookie": "",
            },
        });
        assert_eq!(shown()[1], expected);
    }

    #[test]
    fn a_backend_that_leads_nowhere_is_shown_without_endpoints() {
        let gone = &shown()[0];
        assert_eq!((&gone["name"], &gone["port"]), (&json!("default-gone-http"), &json!("http")));
        assert_eq!((&gone["endpoints"], &gone["service"]["spec"]), (&json!([]), &json!({})));
    }
}
