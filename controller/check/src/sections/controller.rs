//! Pods of the controller: ready, of one version, and one of them is the leader.

use std::collections::BTreeSet;

use super::pods;
use crate::Settings;
use crate::checklist::{Checklist, Section};
use crate::facts::{Controller, Facts, Installation};
use crate::metrics::samples;

const SECTION: Section = Section::Controller;

pub(crate) fn controller(facts: &Facts, settings: &Settings, list: &mut Checklist) {
    let installation = match &facts.installation {
        Ok(installation) => installation,
        Err(error) => {
            return list.failure(
                SECTION,
                error,
                "--namespace and --selector say where the pods are and which labels they have; sluice check --pre checks a cluster \
                 before an installation",
            );
        }
    };
    readiness(installation, list);
    if let Err(error) = &installation.flags {
        list.warning(
            SECTION,
            format!("the controller's flags could not be read: {error}"),
            "rights, class and webhook depend on them and are not checked; use a sluice of the controller's version",
        );
    }
    for Controller { pod, metrics } in &installation.controllers {
        if let Err(error) = metrics {
            list.warning(
                SECTION,
                format!("metrics of pod {} could not be read: {error}", pods::name(pod)),
                "this needs the right to get pods/proxy, a ready pod, and a NetworkPolicy that lets the API server in; sluice dbg in the \
                 pod knows the same",
            );
        }
    }
    versions(installation, settings, list);
    leader(installation, list);
}

fn readiness(installation: &Installation, list: &mut Checklist) {
    let all = || {
        installation
            .controllers
            .iter()
            .map(|controller| &controller.pod)
    };
    pods::readiness(
        (SECTION, "the controller"),
        all(),
        &installation.namespace,
        list,
    );
}

fn pages(installation: &Installation) -> impl Iterator<Item = &str> {
    let all = installation.controllers.iter();
    all.filter_map(|controller| controller.metrics.as_deref().ok())
}

fn versions(installation: &Installation, settings: &Settings, list: &mut Checklist) {
    let infos = pages(installation).flat_map(|page| samples(page, "build_info"));
    let versions: BTreeSet<String> = infos.filter_map(|info| info.label("release")).collect();
    let own = settings.version;
    let others: Vec<&str> = versions
        .iter()
        .map(String::as_str)
        .filter(|it| *it != own)
        .collect();
    if versions.len() > 1 {
        let all: Vec<&str> = versions.iter().map(String::as_str).collect();
        list.warning(
            SECTION,
            format!("controllers of several versions: {}", all.join(", ")),
            "an upgrade is under way, or it does not go on: kubectl rollout status",
        );
    } else if let [other] = others.as_slice() {
        list.warning(
            SECTION,
            format!("the controller is {other}, this program is {own}"),
            "use the same version of both: advice may not fit",
        );
    } else if versions.contains(own) {
        list.ok(SECTION, format!("controller and this program are {own}"));
    }
}

/// Only the leader writes the status of Ingresses.
fn leader(installation: &Installation, list: &mut Checklist) {
    let elects = installation.flags.as_ref().is_ok_and(|flags| flags.elects);
    if !elects || pages(installation).count() < installation.controllers.len() {
        return;
    }
    let pages = pages(installation);
    let leaders = pages.flat_map(|page| samples(page, "leader_election_status"));
    match leaders.filter(|status| status.value == 1.0).count() {
        1 => list.ok(SECTION, "one controller is the leader"),
        0 => list.warning(
            SECTION,
            "no controller is the leader",
            "no status of Ingresses is written: after the last leader has gone that takes up to --election-ttl; then see the Lease and \
             the rights to it",
        ),
        count => list.warning(
            SECTION,
            format!("{count} controllers think that they are the leader"),
            "their metrics may be of different moments: check again; if it stays, compare the clocks of the nodes",
        ),
    }
}
