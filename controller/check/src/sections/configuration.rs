//! Configuration: that every data plane has taken it, and what became of Ingresses.

use std::collections::BTreeSet;

use crate::checklist::{Checklist, Section};
use crate::facts::{Facts, Installation};
use crate::metrics::samples;

const SECTION: Section = Section::Configuration;
/// Longest list of Ingresses in a line.
const MOST: usize = 10;

pub(crate) fn configuration(facts: &Facts, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    refused(installation, list);
    match &installation.served {
        Err(error) => list.unread(SECTION, "Ingresses and what they name", error),
        Ok(served) if served.has_errors => list.warning(
            SECTION,
            &*served.sum,
            "sluice lint --source kube names each with its reason",
        ),
        Ok(served) => list.ok(SECTION, &*served.sum),
    }
}

fn refused(installation: &Installation, list: &mut Checklist) {
    let pages = || {
        let all = installation.controllers.iter();
        all.filter_map(|controller| controller.metrics.as_deref().ok())
    };
    let held: BTreeSet<String> = pages()
        .flat_map(|page| samples(page, "refused_ingress"))
        .filter(|sample| sample.value > 0.0)
        .filter_map(|sample| {
            Some(format!(
                "{}/{}",
                sample.label("namespace")?,
                sample.label("ingress")?
            ))
        })
        .collect();
    let accepted = || pages().flat_map(|page| samples(page, "config_last_reload_successful"));
    if !held.is_empty() {
        let mut names: Vec<&str> = held.iter().take(MOST).map(String::as_str).collect();
        let more = format!("and {} more", held.len().saturating_sub(MOST));
        if held.len() > MOST {
            names.push(&more);
        }
        list.failure(
            SECTION,
            format!("a data plane refuses something of {}", names.join(", ")),
            "kubectl describe ingress has its words as an Event; the rest of the configuration is served (docs/refusals.md)",
        );
    } else if accepted().any(|sample| sample.value == 0.0) {
        list.failure(
            SECTION,
            "the last configuration was not accepted",
            "kubectl sluice dbg xds, or the controller's log, has the data plane's words",
        );
    } else if accepted().next().is_some() {
        list.ok(SECTION, "every data plane has accepted the configuration");
    }
}
