//! Discovery, as kubectl asks for it before anything else.

use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};

/// The answer to a path of discovery; `None` for another path.
pub(super) fn answer(path: &str) -> Option<Value> {
    match path.trim_end_matches('/') {
        "/api" => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/apis" => Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups() })),
        "/api/v1" => Some(resources("v1")),
        path => {
            let version = path.strip_prefix("/apis/")?;
            let is_known = KINDS.iter().any(|kind| kind.api_version == version);
            is_known.then(|| resources(version))
        }
    }
}

fn groups() -> Vec<Value> {
    let mut versions: Vec<&str> = KINDS.iter().map(|kind| kind.api_version).collect();
    versions.dedup();
    let groups = versions.iter().filter_map(|version| {
        let (group, number) = version.split_once('/')?;
        let version = json!({ "groupVersion": version, "version": number });
        Some(json!({ "name": group, "versions": [version], "preferredVersion": version }))
    });
    groups.collect()
}

fn resources(version: &str) -> Value {
    let kinds = KINDS.iter().filter(|kind| kind.api_version == version);
    let resources: Vec<Value> = kinds.map(resource).collect();
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources })
}

fn resource(kind: &Kind) -> Value {
    json!({
        "name": kind.plural, "singularName": kind.name.to_lowercase(), "namespaced": kind.is_namespaced,
        "kind": kind.name, "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
    })
}
