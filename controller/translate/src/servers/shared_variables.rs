//! Variables that a `configuration-snippet` takes to be empty, and the `server-snippet` of its host sets: nginx runs that one before.

use std::collections::BTreeSet;

use sluice_ir::{Action, ReasonCode};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::Assembly;
use super::path_rule::RouteTarget;

const CONFIGURATION_SNIPPET: &str = "annotation configuration-snippet";

impl Assembly<'_> {
    /// Closes the paths of such snippets. That of the ConfigMap is known where snippets are read.
    pub(super) fn close_paths_with_variables_of_servers(&mut self) {
        let mut closed: BTreeSet<(ObjectRef, String)> = BTreeSet::new();
        for builder in self.builders.values_mut() {
            let snippets = std::mem::take(&mut builder.snippets);
            for rule in builder.rules_mut() {
                let Some(of_server) = snippets.get(&rule.owner.key.namespace) else {
                    continue;
                };
                let set = &of_server.snippet.set_variables;
                let Some(name) = rule.annotations.variables.set_before(set) else {
                    continue;
                };
                let owner = of_server.owner();
                let reason = format!(
                    "variable ${name} is not always set, and the server-snippet of {owner} sets it; begin with `set ${name} \"\";`"
                );
                closed.insert((rule.owner.clone(), reason));
                rule.target = RouteTarget::from_action(Action::Denied);
            }
            builder.snippets = snippets;
        }
        for (object, reason) in closed {
            self.report(&object).report(
                ReasonCode::Conflicted,
                Severity::Error,
                CONFIGURATION_SNIPPET,
                reason,
                concat!("snippet not served; ", closed_text!()),
            );
        }
    }
}
