//! `server-snippet` of one namespace on a host, and paths of others. Each of many Ingresses hears of all the others in one report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sluice_ir::{ReasonCode, ServerName};
use sluice_translate_engine::{ObjectRef, Report, Reporter, Severity, listed};

use super::Assembly;
use super::server_builder::ServerBuilder;
use super::server_snippet::FIELD;

impl Assembly<'_> {
    /// In ingress-nginx a snippet is for the whole host. Here it is for the paths of its namespace, which both sides have to know: one
    /// of them may count on a guard that the other wrote.
    pub(super) fn report_paths_without_snippet(&mut self) {
        let Assembly {
            builders, reports, ..
        } = self;
        for (name, builder) in builders {
            report_foreign_paths(name, builder, reports);
            report_foreign_guards(name, builder, reports);
        }
    }
}

/// Warns the owner of each snippet of paths on the host that do not have it.
fn report_foreign_paths(name: &ServerName, builder: &ServerBuilder, reports: &mut Vec<Report>) {
    if builder.snippets.is_empty() {
        return;
    }
    let namespaces = builder.rules().map(|rule| &*rule.owner.key.namespace);
    let namespaces = namespaces.map(|namespace| (namespace, namespace)).collect();
    for (namespace, snippet) in &builder.snippets {
        let Some(others) = of_others(&namespaces, namespace) else {
            continue;
        };
        Reporter::new(snippet.owner().clone(), reports).report(
            ReasonCode::PartiallySupported,
            Severity::Warning,
            FIELD,
            format!("host {name} has paths of other namespaces, too ({others})"),
            "not used for those paths",
        );
    }
}

/// Warns owners of paths of snippets on their host that belong to other namespaces.
fn report_foreign_guards(name: &ServerName, builder: &ServerBuilder, reports: &mut Vec<Report>) {
    let guards = builder.snippets.iter().filter(|(_, it)| it.guards());
    let guards: BTreeMap<&str, &ObjectRef> = guards
        .map(|(namespace, it)| (&**namespace, it.owner()))
        .collect();
    if guards.is_empty() {
        return;
    }
    let owners: BTreeSet<&ObjectRef> = builder.rules().map(|rule| &rule.owner).collect();
    for owner in owners {
        let Some(others) = of_others(&guards, &owner.key.namespace) else {
            continue;
        };
        Reporter::new(owner.clone(), reports).report(
            ReasonCode::Insecure,
            Severity::Warning,
            "spec.rules",
            format!("host {name} has a server-snippet of {others} that may be access control"),
            "its paths are served without it: it is for its own namespace",
        );
    }
}

/// Other namespaces' of what namespaces have on a host; `None`: there are none.
fn of_others<T: fmt::Display>(all: &BTreeMap<&str, T>, own: &str) -> Option<String> {
    let count = all.len() - usize::from(all.contains_key(own));
    let others = all.iter().filter(|(namespace, _)| **namespace != own);
    (count > 0).then(|| listed(others.map(|(_, other)| other), count))
}
