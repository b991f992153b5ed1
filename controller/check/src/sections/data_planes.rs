//! Data planes: ready, connected to a controller, of a supported version.

use std::collections::BTreeMap;

use super::pods;
use crate::checklist::{Checklist, Section};
use crate::facts::{Facts, Installation};
use crate::metrics::samples;
use crate::output::plural;

const SECTION: Section = Section::DataPlanes;
/// The minor version of Envoy that the tests run with.
const ENVOY: &str = "1.40";

pub(crate) fn data_planes(facts: &Facts, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    let connected = connected(installation);
    let own = installation
        .flags
        .as_ref()
        .is_ok_and(|flags| flags.runs_data_plane);
    match own {
        true => list.ok(
            SECTION,
            "the controller runs its data plane itself, and is ready with it",
        ),
        false => of_their_own(installation, connected.as_ref(), list),
    }
    for version in connected.iter().flat_map(BTreeMap::keys) {
        let minor = version.rsplit_once('.').map(|(minor, _)| minor);
        match minor {
            None => {}
            Some(ENVOY) => list.ok(SECTION, format!("Envoy {version} is supported")),
            Some(_) => list.warning(
                SECTION,
                format!("Envoy {version} is not the one that Sluice is tested with"),
                format!("use Envoy {ENVOY}, or run the tests with yours (docs/install.md)"),
            ),
        }
    }
}

/// How many of which version; `None`: not every controller has said it.
fn connected(installation: &Installation) -> Option<BTreeMap<String, f64>> {
    let mut found = BTreeMap::new();
    for controller in &installation.controllers {
        for sample in samples(controller.metrics.as_deref().ok()?, "data_planes") {
            *found.entry(sample.label("version")?).or_default() += sample.value;
        }
    }
    Some(found)
}

fn of_their_own(
    installation: &Installation,
    connected: Option<&BTreeMap<String, f64>>,
    list: &mut Checklist,
) {
    let namespace = &installation.namespace;
    let found = match &installation.data_planes {
        Ok(found) => found,
        Err(error) => return list.unread(SECTION, "pods of the data plane", error),
    };
    let unready = pods::unready(found.iter());
    let ready = found.len() - unready.len();
    let advice =
        format!("kubectl -n {namespace} describe pod and kubectl -n {namespace} logs say why");
    match (ready, unready.len()) {
        (0, 0) => list.warning(
            SECTION,
            format!("no pod of a data plane in {namespace}"),
            "nothing serves requests, unless you run Envoys elsewhere; dataPlane of the chart runs some",
        ),
        (ready, 0) => list.ok(SECTION, format!("{} of the data plane: ready", plural(ready, "pod"))),
        (0, _) => list.failure(
            SECTION,
            format!("no pod of the data plane is ready: {}", unready.join(", ")),
            advice,
        ),
        (_, bad) => list.warning(
            SECTION,
            format!("{bad} of {} of the data plane not ready: {}", plural(found.len(), "pod"), unready.join(", ")),
            advice,
        ),
    }
    if let Some(connected) = connected {
        connections(connected.values().sum(), ready, list);
    }
}

#[allow(clippy::cast_precision_loss, reason = "so many pods are in no cluster")]
fn connections(connected: f64, ready: usize, list: &mut Checklist) {
    let message = format!(
        "{connected} of {} connected to a controller",
        plural(ready, "data plane")
    );
    match connected {
        connected if connected >= ready as f64 && connected > 0.0 => list.ok(
            SECTION,
            format!("{} connected to a controller", plural(connected as usize, "data plane")),
        ),
        0.0 if ready == 0 => {}
        _ => list.failure(
            SECTION,
            message,
            "they go on serving what they know, and hear of no change: the log of a data plane says why it cannot connect; certificates \
             (xds.controllerSecret, xds.dataPlaneSecret) and NetworkPolicies are the usual reasons",
        ),
    }
}
