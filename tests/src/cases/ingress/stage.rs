//! The source of a case's objects: a file, or a cluster when the case needs one.
//!
//! The cluster is always the fake one: cases name namespaces and classes that a real one may have for others, and their pods
//! are on loopback, where a real one takes no endpoints.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::asked::{Asked, Under};
use super::model::CONTROLLER_NAMESPACE;
use super::schema::{Case, Withheld};
use crate::apiserver::Cluster;
use crate::apiserver::gate::{Fault, Lasting};
use crate::manifests::Manifests;
use crate::sluice::Options;

/// All objects are in one file, so that the controller hears of a change as a whole.
const FILE: &str = "case.yaml";

/// The source of objects.
pub enum Stage {
    /// In a folder.
    Folder(Manifests),
    /// In a fake cluster.
    Cluster {
        /// With the API server.
        cluster: Box<Cluster>,
        /// The stored objects.
        stored: Vec<Value>,
        /// Reads that the controller is denied.
        _withheld: Option<Lasting>,
    },
}

impl Stage {
    /// The one that the case needs.
    pub async fn for_case(case: &Case) -> Result<Stage> {
        if needs_cluster(case) {
            let cluster = Box::new(Cluster::fake().await?);
            let withhold = |right: &Withheld| {
                cluster
                    .gate()
                    .fail("GET", &format!("/{}", right.resource), Fault::Status(403))
            };
            let withheld = case.given.rbac.as_ref().map(withhold);
            return Ok(Stage::Cluster {
                cluster,
                stored: Vec::new(),
                _withheld: withheld,
            });
        }
        Ok(Stage::Folder(Manifests::folder()?))
    }

    /// A controller on it.
    pub fn options(&self) -> Options {
        match self {
            Stage::Folder(manifests) => Options::new(manifests),
            Stage::Cluster { cluster, .. } => {
                Options::with_access_to(cluster, CONTROLLER_NAMESPACE)
            }
        }
    }

    /// Makes these all the objects that there are.
    pub fn put(&mut self, objects: &[Value]) -> Result<()> {
        match self {
            Stage::Folder(manifests) => manifests.write(FILE, &documents(objects)),
            Stage::Cluster {
                cluster, stored, ..
            } => {
                let fake = cluster.as_fake().context("a fake cluster")?;
                let namespaces = namespaces(objects);
                for object in namespaces
                    .iter()
                    .chain(objects)
                    .filter(|object| !stored.contains(object))
                {
                    fake.put(object.clone())?;
                }
                for gone in stored
                    .iter()
                    .filter(|old| !objects.iter().any(|new| place(new) == place(old)))
                {
                    fake.remove(gone)?;
                }
                *stored = objects.to_vec();
                Ok(())
            }
        }
    }

    /// The API server, if there is one.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Stage::Folder(_) => None,
            Stage::Cluster { cluster, .. } => Some(cluster),
        }
    }
}

/// Checks of the controller itself run against one as users have it: in a cluster.
fn needs_cluster(case: &Case) -> bool {
    let of_controller = case.checks.iter().any(|check| {
        let of_controller = matches!(
            Asked::of(check),
            Asked::Read(_)
                | Asked::Admission
                | Asked::Exec(_)
                | Asked::Metric(_)
                | Asked::Signal(Under::Nothing, _)
        );
        of_controller || check.then.checksum_changed.is_some()
    });
    of_controller || case.given.rbac.is_some()
}

/// JSON is YAML, and no line of it begins a new document.
fn documents(objects: &[Value]) -> String {
    objects
        .iter()
        .map(|object| format!("---\n{object:#}\n"))
        .collect()
}

/// Those that objects are in; the cases leave them out.
fn namespaces(objects: &[Value]) -> Vec<Value> {
    let named = objects
        .iter()
        .filter(|object| object["kind"] == "Namespace");
    let named: BTreeSet<&str> = named
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect();
    let used = objects
        .iter()
        .filter_map(|object| object["metadata"]["namespace"].as_str());
    let used: BTreeSet<&str> = used.chain([CONTROLLER_NAMESPACE]).collect();
    let object =
        |name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    used.difference(&named).map(object).collect()
}

fn place(object: &Value) -> [&Value; 3] {
    [
        &object["kind"],
        &object["metadata"]["namespace"],
        &object["metadata"]["name"],
    ]
}
