//! A case's objects in their source, and the pods that they name: everything but the controller.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::check::texts;
use super::flags;
use super::marker::Marker;
use super::model::Model;
use super::objects::{self, Places};
use super::pods::Pods;
use super::schema::Case;
use super::secrets::Secrets;
use super::stage::Stage;

/// Objects and pods.
pub struct Staged {
    /// The expected state.
    pub(super) model: Model,
    /// The pods.
    pub(super) pods: Pods,
    /// Certificates and other secrets.
    pub(super) secrets: Secrets,
    /// The source of the objects.
    pub(super) stage: Stage,
    /// Tells when a change is served.
    pub(super) marker: Option<Marker>,
    /// The objects, without the marker's.
    pub(super) written: Vec<Value>,
}

impl Staged {
    /// Those of a case that does not change.
    ///
    /// # Errors
    /// What stands against it.
    pub async fn for_case(case: &Case) -> Result<Staged> {
        let model = Model {
            given: case.given.clone(),
            ..Model::default()
        };
        Staged::new(case, model, false).await
    }

    pub(super) async fn new(case: &Case, model: Model, may_change: bool) -> Result<Staged> {
        let mut stage = Stage::for_case(case).await?;
        let mut pods = Pods::new(dns_answer(case))?;
        let mut secrets = Secrets::default();
        pods.follow(&model, &mut secrets.authorities).await?;
        let marker = match may_change {
            true => Some(Marker::start().await?),
            false => None,
        };
        let written = all_objects(&model, &mut secrets, &pods.places(), marker.as_ref())?;
        stage.put(&written)?;
        Ok(Staged {
            model,
            pods,
            secrets,
            stage,
            marker,
            written,
        })
    }

    /// Folder of the objects; `None`: they are in a cluster.
    pub fn folder(&self) -> Option<&Path> {
        match &self.stage {
            Stage::Folder(manifests) => Some(manifests.dir()),
            Stage::Cluster { .. } => None,
        }
    }

    /// The controller's flags, without its listeners.
    ///
    /// # Errors
    /// A flag that the controller does not know.
    pub fn flags(&self) -> Result<Vec<String>, String> {
        flags::of(&self.model)
    }
}

/// The pods answer with what the case expects; whether that arrives is the question.
fn dns_answer(case: &Case) -> Option<Ipv4Addr> {
    const ANY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 53);
    case.checks
        .iter()
        .find(|check| check.when.dns_over_tcp.is_some())?;
    let answers = case
        .checks
        .iter()
        .filter_map(|check| check.then.answer.as_ref());
    answers
        .flat_map(texts)
        .find_map(|answer| answer.parse().ok())
        .or(Some(ANY))
}

pub(super) fn all_objects(
    model: &Model,
    secrets: &mut Secrets,
    places: &Places,
    marker: Option<&Marker>,
) -> Result<Vec<Value>> {
    let secrets = secrets.of(model)?;
    let mut all = objects::objects(model, &secrets, places);
    all.extend(marker.into_iter().flat_map(|marker| marker.objects(model)));
    Ok(all)
}
