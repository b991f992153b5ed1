//! The baseline: an Envoy with the very configuration that Sluice gives to one, without the filter.
//!
//! It is taken from an Envoy that Sluice configures (`/config_dump`), so it cannot drift from what is shipped: the same
//! connection manager with the same limits, timeouts and path rules, the same routes and retries, the same cluster options.
//! These parts are removed, and it is an error if one of them is missing:
//!
//! - the wasm filter, and with it the controller's two clusters and ADS;
//! - `override_host`, the policy that reads the filter's choice; the cluster balances by that policy's own fallback;
//! - discovery: routes and endpoints are those of the dump, written into the bootstrap;
//! - the `https` listener, which is not measured.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use sluice_tests::envoy::Envoy;
use sluice_tests::manifests::Manifests;
use sluice_tests::sluice::{self, Options};

/// The wasm filter, and the same for requests whose host or path has to be looked up.
const WASM_FILTERS: [&str; 2] = ["sluice", "sluice.lookup"];
const LISTENER: &str = "http";
const OVERRIDE_HOST: &str = "envoy.load_balancing_policies.override_host";

/// The bootstrap of an Envoy that serves these manifests here by itself.
pub(crate) async fn bootstrap(manifests: &Manifests, listen: SocketAddr) -> Result<String> {
    let controller = Options::new(manifests)
        .without_data_plane()
        .http(listen)
        // Routes name the filter where they switch it off, and here is none.
        .arguments(vec!["--native-balancing=off".to_owned()])
        .start()
        .await?;
    let mut bootstrap: Value =
        serde_json::from_str(&sluice::bootstrap(controller.xds(), "native")?)?;
    let mut envoy = Envoy::start(&bootstrap.to_string()).await?;
    envoy.ready().await?;
    let dump = Dump::parse(&envoy.admin("/config_dump?include_eds").await?)?;
    envoy.stop()?;
    controller.stop()?;
    let fields = fields(&mut bootstrap)?;
    fields
        .remove("dynamic_resources")
        .context("the bootstrap has no dynamic_resources")?;
    fields.insert("static_resources".to_owned(), static_resources(&dump)?);
    Ok(bootstrap.to_string())
}

/// The sections of a configuration dump.
struct Dump(Vec<Value>);

impl Dump {
    fn parse(text: &str) -> Result<Dump> {
        let mut dump: Value = serde_json::from_str(text).context("/config_dump")?;
        let sections: Vec<Value> = serde_json::from_value(dump["configs"].take())?;
        Ok(Dump(sections))
    }

    /// The resources of a kind that Sluice has sent: what is at `pointer` in each entry of a list.
    fn resources(&self, list: &str, pointer: &str) -> Result<Vec<Value>> {
        let found = self
            .0
            .iter()
            .find_map(|section| section.get(list)?.as_array());
        let entries = found.with_context(|| format!("/config_dump has no {list}"))?;
        entries
            .iter()
            .map(|entry| resource(entry, pointer).with_context(|| list.to_owned()))
            .collect()
    }
}

/// Without its type, which a place in the bootstrap has already.
fn resource(entry: &Value, pointer: &str) -> Result<Value> {
    let mut resource = entry
        .pointer(pointer)
        .with_context(|| format!("there is no {pointer}"))?
        .clone();
    fields(&mut resource)?.remove("@type");
    Ok(resource)
}

fn fields(value: &mut Value) -> Result<&mut Map<String, Value>> {
    value.as_object_mut().context("expected an object")
}

fn static_resources(dump: &Dump) -> Result<Value> {
    let listeners = dump.resources("dynamic_listeners", "/active_state/listener")?;
    let mut listener = named("name", LISTENER, listeners)?;
    let manager = listener
        .pointer_mut("/filter_chains/0/filters/0/typed_config")
        .context("the listener has no connection manager")?;
    let routes = dump.resources("dynamic_route_configs", "/route_config")?;
    serve_by_itself(manager, routes)?;
    let endpoints = dump.resources("dynamic_endpoint_configs", "/endpoint_config")?;
    let clusters = dump
        .resources("dynamic_active_clusters", "/cluster")?
        .into_iter();
    let clusters = clusters.map(|cluster| balanced_by_itself(cluster, &endpoints));
    Ok(json!({ "listeners": [listener], "clusters": clusters.collect::<Result<Vec<_>>>()? }))
}

fn named(key: &str, name: &str, resources: Vec<Value>) -> Result<Value> {
    let found = resources.into_iter().find(|resource| resource[key] == name);
    found.with_context(|| format!("there is no {key} {name}"))
}

/// Takes the filter out and the routes in.
fn serve_by_itself(manager: &mut Value, routes: Vec<Value>) -> Result<()> {
    let manager = fields(manager)?;
    let rds = manager
        .remove("rds")
        .context("the connection manager has no rds")?;
    let name = rds["route_config_name"].as_str().unwrap_or_default();
    manager.insert("route_config".to_owned(), named("name", name, routes)?);
    let filters = manager
        .get_mut("http_filters")
        .and_then(Value::as_array_mut)
        .context("the connection manager has no filters")?;
    let before = filters.len();
    filters.retain(|filter| !is_wasm(filter));
    ensure!(
        filters.len() + WASM_FILTERS.len() == before,
        "expected the filters {WASM_FILTERS:?}, got {}",
        before - filters.len()
    );
    Ok(())
}

/// The wasm filter comes over ADS, others stand in the chain.
fn is_wasm(filter: &Value) -> bool {
    let name = filter["name"].as_str().unwrap_or_default();
    filter.get("config_discovery").is_some() && WASM_FILTERS.contains(&name)
}

/// The cluster with its endpoints in it, balanced by what is `override_host`'s fallback.
fn balanced_by_itself(mut cluster: Value, endpoints: &[Value]) -> Result<Value> {
    let name = cluster["name"].as_str().unwrap_or_default().to_owned();
    let policy = cluster.pointer("/load_balancing_policy/policies/0/typed_extension_config");
    let policy = policy.filter(|policy| policy["name"] == OVERRIDE_HOST);
    let fallback = policy
        .and_then(|policy| policy.pointer("/typed_config/fallback_policy"))
        .cloned();
    let fallback =
        fallback.with_context(|| format!("{name}: expected {OVERRIDE_HOST} with a fallback"))?;
    let mut assignment = named("cluster_name", &name, endpoints.to_vec())?;
    for locality in assignment["endpoints"].as_array_mut().into_iter().flatten() {
        // The dump says 0 for "no weight", which is not a weight.
        self::fields(locality)?.retain(|key, value| key != "load_balancing_weight" || *value != 0);
    }
    let fields = fields(&mut cluster)?;
    fields
        .remove("eds_cluster_config")
        .with_context(|| format!("{name} has no EDS"))?;
    fields.insert("type".to_owned(), "STATIC".into());
    fields.insert("load_assignment".to_owned(), assignment);
    fields.insert("load_balancing_policy".to_owned(), fallback);
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(policy: &str) -> Value {
        let fallback = json!({ "policies": ["fallback"] });
        let config = json!({ "name": policy, "typed_config": { "fallback_policy": fallback } });
        json!({
            "name": "web",
            "type": "EDS",
            "eds_cluster_config": {},
            "connect_timeout": "5s",
            "load_balancing_policy": { "policies": [{ "typed_extension_config": config }] },
        })
    }

    #[test]
    fn a_cluster_keeps_all_but_the_choice_and_the_discovery() {
        let endpoints =
            [json!({ "cluster_name": "web", "endpoints": [{ "load_balancing_weight": 0 }] })];
        let expected = json!({
            "name": "web",
            "type": "STATIC",
            "connect_timeout": "5s",
            "load_balancing_policy": { "policies": ["fallback"] },
            "load_assignment": { "cluster_name": "web", "endpoints": [{}] },
        });
        assert_eq!(
            balanced_by_itself(cluster(OVERRIDE_HOST), &endpoints).unwrap(),
            expected
        );
        let error = balanced_by_itself(cluster("another"), &endpoints).unwrap_err();
        assert!(error.to_string().contains(OVERRIDE_HOST), "{error}");
    }

    #[test]
    fn a_connection_manager_keeps_all_but_the_filter_and_the_discovery() {
        let rds = json!({ "route_config_name": "http" });
        let with =
            |filters: Value| json!({ "merge_slashes": true, "rds": rds, "http_filters": filters });
        let wasm = |name: &str| json!({ "name": name, "config_discovery": {} });
        let routes = || vec![json!({ "name": "http", "virtual_hosts": [] })];
        let own = json!([{ "name": "sluice.lookup" }, { "name": "router" }]);
        let mut filters = own.clone();
        let all = filters.as_array_mut().unwrap();
        all.extend(WASM_FILTERS.map(wasm));
        let mut manager = with(filters);
        serve_by_itself(&mut manager, routes()).unwrap();
        let mut expected = json!({ "merge_slashes": true, "http_filters": own });
        expected["route_config"] = routes()[0].clone();
        assert_eq!(manager, expected);
        let error = serve_by_itself(&mut with(own), routes()).unwrap_err();
        assert!(error.to_string().contains("got 0"), "{error}");
    }
}
