//! Limit on what the ConfigMap's `server-snippet` comes to: its author does not know how many paths an Ingress will have.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Action, ReasonCode};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::Assembly;
use super::path_rule::{PathRule, RouteTarget};
use super::server_snippet::NamespaceSnippet;
use super::snippet_budget::{MAX_SNIPPET_CONDITIONS, copies};

impl Assembly<'_> {
    /// Closes the paths of Ingresses that have more of it than of a snippet of their own.
    pub(super) fn limit_operators_snippet(&mut self) {
        let Some(operators) = NamespaceSnippet::of_nobody(self.globals) else {
            return;
        };
        let mut sizes = self.sizes_of_operators(&operators);
        sizes.retain(|_, size| *size > MAX_SNIPPET_CONDITIONS);
        let snippet = self.operators_snippet();
        for (object, size) in &sizes {
            let reason = format!(
                "expected at most {MAX_SNIPPET_CONDITIONS} responses and conditions of {snippet}, times paths and CORS origins, got \
                 {size}; spread the paths over several Ingresses"
            );
            self.report(object).report(
                ReasonCode::LimitExceeded,
                Severity::Error,
                "spec.rules",
                reason,
                concat!("paths not served; ", closed_text!()),
            );
        }
        let rules = self
            .builders
            .values_mut()
            .flat_map(|builder| builder.rules_mut());
        for rule in rules.filter(|rule| sizes.contains_key(&rule.owner)) {
            rule.target = RouteTarget::from_action(Action::Denied);
        }
    }

    /// By Ingress: a copy for each route that its paths become, and of the locations one for each host.
    fn sizes_of_operators(&self, operators: &NamespaceSnippet) -> BTreeMap<ObjectRef, usize> {
        let mut sizes = BTreeMap::new();
        for builder in self.builders.values() {
            let is_open = |rule: &&PathRule| rule.target.action != Action::Denied;
            let mut owners = BTreeSet::new();
            for rule in builder.rules().filter(is_open) {
                owners.insert(&rule.owner);
                let routes = 1 + rule.annotations.path_changes.len();
                let of_path = operators.size() * routes * copies(rule);
                *sizes.entry(rule.owner.clone()).or_default() += of_path;
            }
            for owner in owners {
                *sizes.entry(owner.clone()).or_default() += operators.size_of_locations();
            }
        }
        sizes
    }
}
