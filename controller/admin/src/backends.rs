//! The backends as ingress-nginx shows them: the JSON of its `/configuration/backends`.
//!
//! A read model: people and `sluice dbg` read it, no data plane does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sluice_ir::{
    Affinity, Backend, BackendId, Canary, CanaryValue, Config, LoadBalance, ValuePattern,
};
use sluice_translate::{ObjectKey, Resources, Service, ids};

/// The subset size is there even when nothing is hashed.
const SUBSET_SIZE: u16 = 3;

/// One upstream. Empty and false values are left out where ingress-nginx leaves them out.
#[derive(Debug, PartialEq, Serialize)]
pub struct Upstream {
    name: String,
    #[serde(skip_serializing_if = "Value::is_null")]
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
    #[serde(rename = "alternativeBackends", skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Address {
    address: String,
    port: String,
}

/// Name of the backend for requests that no Ingress takes.
const DEFAULT: &str = "upstream-default-backend";

/// Every backend, by name. The default backend is always there; without a Service (`default`), the data plane answers
/// 404 itself and it has no endpoints.
pub fn upstreams(
    config: &Config,
    resources: &Resources,
    default: Option<&ObjectKey>,
) -> Vec<Upstream> {
    let uses = Uses {
        default,
        ..Uses::of(config)
    };
    let all = config
        .backends
        .iter()
        .map(|(id, backend)| upstream(id, backend, &uses, resources));
    let mut all: Vec<Upstream> = all.collect();
    if !all.iter().any(|upstream| upstream.name == DEFAULT) {
        let nobody = Upstream {
            name: DEFAULT.to_owned(),
            service: Value::Null,
            port: 0.into(),
            ..upstream(&BackendId::new("//"), &Backend::default(), &uses, resources)
        };
        all.push(nobody);
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// Backends by the names that they are shown with. What is alike may have one name.
pub(super) fn ids_by_name(
    config: &Config,
    default: Option<&ObjectKey>,
) -> BTreeMap<String, Vec<BackendId>> {
    let uses = Uses {
        default,
        ..Uses::default()
    };
    let mut names = BTreeMap::from([(DEFAULT.to_owned(), Vec::new())]);
    for id in config.backends.keys() {
        names
            .entry(uses.name(id))
            .or_insert_with(Vec::new)
            .push(id.clone());
    }
    names
}

/// References to backends by routes and flags.
#[derive(Default)]
struct Uses<'a> {
    /// `--default-backend-service`
    default: Option<&'a ObjectKey>,
    canaries: BTreeMap<&'a BackendId, &'a Canary>,
    alternatives: BTreeMap<&'a BackendId, Vec<&'a BackendId>>,
    /// Paths by host.
    places: BTreeMap<&'a BackendId, BTreeMap<String, Vec<&'a str>>>,
    /// Those that TLS connections go to.
    passed: BTreeSet<&'a BackendId>,
}

impl<'a> Uses<'a> {
    fn of(config: &'a Config) -> Self {
        let mut uses = Uses {
            passed: config.passthrough.values().collect(),
            ..Uses::default()
        };
        for (name, server) in &config.servers {
            for location in &server.routes {
                let Some(main) = location.primary_backend() else {
                    continue;
                };
                let paths = uses
                    .places
                    .entry(main)
                    .or_default()
                    .entry(name.to_string())
                    .or_default();
                paths.push(location.matches.path.text());
                for canary in &location.canaries {
                    let backends = canary.backends();
                    uses.canaries.extend(backends.map(|id| (id, canary)));
                    let alternatives = uses.alternatives.entry(main).or_default();
                    if !alternatives.contains(&&canary.backend) {
                        alternatives.push(&canary.backend);
                    }
                }
            }
        }
        uses
    }

    /// Joined with hyphens, as people know it. Only default backends are asked for their first port, whichever that is.
    fn name(&self, id: &BackendId) -> String {
        let joined = |text: &str| text.replace(['/', ':'], "-");
        match id.as_str().strip_suffix("/first") {
            Some(service) if self.default.is_some_and(|key| key.to_string() == service) => {
                DEFAULT.to_owned()
            }
            Some(service) => format!("custom-default-backend-{}", joined(service)),
            None => joined(id.as_str()),
        }
    }
}

fn upstream(id: &BackendId, backend: &Backend, uses: &Uses<'_>, resources: &Resources) -> Upstream {
    let (service, port) = ids::service_of(id).unzip();
    let service = service.and_then(|key| resources.service(&key));
    let port = port.unwrap_or_default();
    let canary = uses.canaries.get(id).copied();
    let alternatives = uses
        .alternatives
        .get(id)
        .into_iter()
        .flatten()
        .map(|id| uses.name(id))
        .collect();
    let pods = backend
        .endpoints
        .iter()
        .filter(|endpoint| !endpoint.draining)
        .map(|endpoint| address(&endpoint.address));
    Upstream {
        name: uses.name(id),
        service: described(service),
        port: port
            .parse::<u16>()
            .map_or_else(|_| port.into(), Value::from),
        ssl_passthrough: uses.passed.contains(id),
        endpoints: pods.collect(),
        session_affinity: session_affinity(backend.affinity.as_deref(), uses.places.get(id)),
        upstream_hash_by: hash_by(&backend.load_balance),
        load_balance: load_balance(&backend.load_balance),
        no_server: canary.is_some(),
        traffic_shaping: traffic_shaping(canary),
        alternatives,
    }
}

fn session_affinity(
    affinity: Option<&Affinity>,
    places: Option<&BTreeMap<String, Vec<&str>>>,
) -> Value {
    let Some(Affinity {
        mode,
        cookie,
        change_on_failure,
    }) = affinity
    else {
        return json!({"name": "", "mode": "", "cookieSessionAffinity": {"name": ""}});
    };
    let same_site = cookie.same_site.map(|same_site| format!("{same_site:?}"));
    let members = [
        ("name", json!(cookie.name)),
        (
            "expires",
            json!(cookie.expires.map(|seconds| seconds.to_string())),
        ),
        (
            "maxage",
            json!(cookie.max_age.map(|seconds| seconds.to_string())),
        ),
        ("locations", json!(places)),
        ("secure", json!(cookie.secure)),
        ("path", json!(cookie.path)),
        ("domain", json!(cookie.domain)),
        ("samesite", json!(same_site)),
        (
            "conditional_samesite_none",
            json!(cookie.conditional_same_site_none),
        ),
        ("change_on_failure", json!(change_on_failure)),
    ];
    let said = members
        .into_iter()
        .filter(|(_, value)| !value.is_null() && *value != json!(false));
    let cookie: Map<String, Value> = said.map(|(name, value)| (name.to_owned(), value)).collect();
    json!({"name": "cookie", "mode": mode, "cookieSessionAffinity": cookie})
}

fn hash_by(algorithm: &LoadBalance) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut size = SUBSET_SIZE;
    if let LoadBalance::Hash { key, subset, .. } = algorithm {
        shown.insert("upstream-hash-by".to_owned(), key.to_string().into());
        if let Some(subset) = subset {
            shown.insert("upstream-hash-by-subset".to_owned(), true.into());
            size = subset.get();
        }
    }
    shown.insert("upstream-hash-by-subset-size".to_owned(), size.into());
    shown
}

/// As one pattern of PCRE.
fn all_of(patterns: &[ValuePattern]) -> String {
    let all = patterns.iter().map(|it| {
        let kind = if it.negated { '!' } else { '=' };
        format!("(?{kind}.*?(?:{}))", it.pattern)
    });
    format!("^{}", all.collect::<String>())
}

fn traffic_shaping(canary: Option<&Canary>) -> Value {
    let rules = canary
        .map(|canary| canary.rules.clone())
        .unwrap_or_default();
    let (header, value) = rules
        .header
        .map(|header| (header.name, Some(header.value)))
        .unwrap_or_default();
    let (exact, pattern) = match value {
        Some(CanaryValue::Exact(text)) => (text, String::new()),
        Some(CanaryValue::Matches(pattern) | CanaryValue::Backtracking(pattern)) => {
            (String::new(), pattern)
        }
        Some(CanaryValue::MatchesAll(all)) => (String::new(), all_of(&all)),
        Some(CanaryValue::AlwaysNever | CanaryValue::Invalid) | None => Default::default(),
    };
    json!({
        "weight": rules.weight, "weightTotal": rules.total, "header": header, "headerValue": exact,
        "headerPattern": pattern, "cookie": rules.cookie.unwrap_or_default(),
    })
}

/// Only the spec of a Service is shown.
fn described(service: Option<&Service>) -> Value {
    let spec = service.map(Service::spec);
    json!({
        "metadata": {"creationTimestamp": null},
        "spec": spec.unwrap_or_default(),
        "status": {"loadBalancer": {}},
    })
}

fn address(socket: &SocketAddr) -> Address {
    Address {
        address: socket.ip().to_string(),
        port: socket.port().to_string(),
    }
}

fn load_balance(algorithm: &LoadBalance) -> Option<&'static str> {
    match algorithm {
        LoadBalance::Named(name) => Some(name),
        // What is hashed says it.
        LoadBalance::Hash { .. } => None,
    }
}

#[cfg(test)]
mod tests;
