//! Data planes: ready, connected to a controller, of a supported version.

use std::collections::BTreeMap;

use sluice_xds_resource::{TESTED_ENVOY as ENVOY, flaw_of_envoy};

use super::pods;
use crate::checklist::{Checklist, Section};
use crate::discovery::is_ready;
use crate::facts::{Facts, Installation};
use crate::metrics::samples;
use crate::output::plural;

const SECTION: Section = Section::DataPlanes;

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
        // A controller is ready when its data plane is.
        true => pods::readiness(
            (SECTION, "the controller, which runs its data plane itself,"),
            installation
                .controllers
                .iter()
                .map(|controller| &controller.pod),
            &installation.namespace,
            list,
        ),
        false => of_their_own(installation, connected.as_ref(), list),
    }
    // A controller without any says so without a version.
    let known = connected
        .iter()
        .flatten()
        .filter(|(_, count)| **count > 0.0);
    for (version, _) in known {
        if let Some(flaw) = flaw_of_envoy(version) {
            let (message, advice) = (
                format!("Envoy {version} {flaw}"),
                format!("use Envoy {ENVOY}"),
            );
            list.failure(SECTION, message, advice);
            continue;
        }
        let minor = version.rsplit_once('.').map(|(minor, _)| minor);
        match minor {
            None => list.warning(
                SECTION,
                "a connected data plane does not say its version",
                format!("use Envoy {ENVOY}, which says it"),
            ),
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
    let ready = found.iter().filter(|pod| is_ready(pod)).count();
    match found.is_empty() {
        true => list.warning(
            SECTION,
            format!("no pod of a data plane in {namespace}"),
            "nothing serves requests, unless you run Envoys elsewhere; dataPlane of the chart runs some",
        ),
        false => pods::readiness((SECTION, "the data plane"), found.iter(), namespace, list),
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
