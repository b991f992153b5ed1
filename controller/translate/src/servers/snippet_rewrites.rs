//! `rewrite` in snippets, where paths are patterns or long: Envoy cannot compare a path with both.

use std::collections::BTreeSet;

use sluice_ir::{Action, DirectResponse, ReasonCode, ResponseContent};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::Assembly;
use super::path_rule::{PathRule, RouteTarget};

/// Bytes of a path: Envoy limits the program of the pattern that compares it.
const MAX_PATH: usize = 500;

impl Assembly<'_> {
    /// Closes the paths of such snippets.
    pub(super) fn close_rewrites_beside_patterns(&mut self) {
        let mut closed: BTreeSet<(ObjectRef, &str)> = BTreeSet::new();
        for builder in self.builders.values_mut() {
            let patterns = builder.rules().filter(|rule| rule.is_pattern());
            let long = builder.rules().filter(|rule| rule.path.len() > MAX_PATH);
            let namespaces: BTreeSet<String> = patterns
                .chain(long)
                .map(|rule| rule.owner.key.namespace.clone())
                .collect();
            if namespaces.is_empty() {
                continue;
            }
            builder.snippets.retain(|namespace, snippet| {
                let is_closed = snippet.rewrites() && namespaces.contains(namespace);
                if is_closed {
                    builder.closed.insert(namespace.clone());
                    closed.insert((snippet.owner().clone(), "annotation server-snippet"));
                }
                !is_closed
            });
            let is_concerned = |rule: &PathRule| {
                namespaces.contains(&rule.owner.key.namespace)
                    && rewrite(&rule.annotations.direct_responses)
            };
            for rule in builder.rules_mut().filter(|rule| is_concerned(rule)) {
                rule.target = RouteTarget::from_action(Action::Denied);
                closed.insert((rule.owner.clone(), "annotation configuration-snippet"));
            }
        }
        for (object, field) in closed {
            self.report(&object).report(
                ReasonCode::Unsupported,
                Severity::Error,
                field,
                "rewrite is not supported where paths are regular expressions (use-regex, rewrite-target) or have more than 500 bytes",
                concat!("snippet not served; ", closed_text!()),
            );
        }
    }
}

/// True if one of them rewrites.
pub(super) fn rewrite(responses: &[DirectResponse]) -> bool {
    let mut contents = responses.iter().map(|response| &response.content);
    contents.any(|content| matches!(content, ResponseContent::Rewritten { .. }))
}
