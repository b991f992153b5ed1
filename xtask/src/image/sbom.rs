//! The software bill of materials, in CycloneDX: every crate, package and program with version, hash and licence.
//!
//! No serial number and no time: they would be the only difference between two builds.

use serde_json::{Map, Value, json};

use super::parts::Part;
use crate::arch::Arch;

/// The document of an image.
pub(super) fn document(image: &str, arch: Arch, parts: &[Part]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let components: Vec<Value> = parts.iter().map(component).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": "image",
                "name": format!("sluice/{image}"),
                "version": version,
                "properties": [{"name": "sluice:architecture", "value": arch.name()}],
            },
        },
        "components": components,
    })
}

fn component(part: &Part) -> Value {
    let mut component = Map::new();
    let mut set = |name: &str, value: Value| component.insert(name.to_owned(), value);
    set("type", json!(part.kind));
    set("bom-ref", json!(reference(part)));
    set("name", json!(part.name));
    set("version", json!(part.version));
    if let Some(hash) = &part.sha256 {
        set("hashes", json!([{"alg": "SHA-256", "content": hash}]));
    }
    if let Some(licence) = &part.licence {
        set("licenses", json!([{"expression": licence}]));
    }
    if let Some(url) = &part.url {
        set("purl", json!(url));
    }
    Value::Object(component)
}

fn reference(part: &Part) -> String {
    let plain = || format!("{}@{}", part.name, part.version);
    part.url.clone().unwrap_or_else(plain)
}
