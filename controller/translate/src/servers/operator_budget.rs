//! Limit on what the snippets of the ConfigMap come to: its author does not know how many paths an Ingress will have.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Action, ReasonCode};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::Assembly;
use super::path_rule::{PathRule, RouteTarget};
use super::server_snippet::NamespaceSnippet;
use super::snippet_budget::{MAX_SNIPPET_CONDITIONS, copies};
use crate::global::Globals;

impl Assembly<'_> {
    /// Closes the paths of Ingresses that have more of it than of a snippet of their own.
    pub(super) fn limit_operators_snippet(&mut self) {
        let Globals {
            server_snippet,
            location_snippet,
            ..
        } = self.globals;
        let of_server = server_snippet
            .as_ref()
            .map(|_| self.globals.server_snippet_name());
        let of_location = location_snippet.as_ref().map(|it| it.name.clone());
        let snippets: Vec<String> = of_server.into_iter().chain(of_location).collect();
        if snippets.is_empty() {
            return;
        }
        let operators = NamespaceSnippet::of_nobody(self.globals);
        let mut sizes = self.sizes_of_operators(operators.as_ref());
        sizes.retain(|_, size| *size > MAX_SNIPPET_CONDITIONS);
        let snippet = snippets.join(" and ");
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
    fn sizes_of_operators(
        &self,
        operators: Option<&NamespaceSnippet>,
    ) -> BTreeMap<ObjectRef, usize> {
        let mut sizes = BTreeMap::new();
        for builder in self.builders.values() {
            let is_open = |rule: &&PathRule| rule.target.action != Action::Denied;
            let mut owners = BTreeSet::new();
            for rule in builder.rules().filter(is_open) {
                owners.insert(&rule.owner);
                let routes = 1 + rule.annotations.path_changes.len();
                let of_server = operators.map_or(0, NamespaceSnippet::size);
                let size = of_server + rule.annotations.location_snippet.size;
                let of_path = size * routes * copies(rule);
                *sizes.entry(rule.owner.clone()).or_default() += of_path;
            }
            for owner in owners {
                let of_locations = operators.map_or(0, NamespaceSnippet::size_of_locations);
                *sizes.entry(owner.clone()).or_default() += of_locations;
            }
        }
        sizes
    }
}
