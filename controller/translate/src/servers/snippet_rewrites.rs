//! `rewrite` in snippets, where paths are patterns or long: Envoy cannot compare a path with both.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Action, DirectResponse, ReasonCode, ResponseContent};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::closing::Closing;
use super::path_rule::{PathRule, RouteTarget};
use super::{Assembly, server_snippet};

/// Bytes of a path: Envoy limits the program of the pattern that compares it.
const MAX_PATH: usize = 500;
const CONFIGURATION_SNIPPET: &str = "annotation configuration-snippet";

impl Assembly<'_> {
    /// Closes the paths of such snippets.
    pub(super) fn close_rewrites_beside_patterns(&mut self) {
        let mut closed: BTreeSet<(ObjectRef, &str, ObjectRef)> = BTreeSet::new();
        for builder in self.builders.values_mut() {
            let mut causes = BTreeMap::new();
            let is_cause = |rule: &&PathRule| rule.is_pattern() || rule.path.len() > MAX_PATH;
            for rule in builder.rules().filter(is_cause) {
                let namespace = rule.owner.key.namespace.clone();
                causes
                    .entry(namespace)
                    .or_insert_with(|| rule.owner.clone());
            }
            if causes.is_empty() {
                continue;
            }
            builder.snippets.retain(|namespace, snippet| {
                let cause = causes.get(namespace).filter(|_| snippet.rewrites());
                if let Some(cause) = cause {
                    let closing = Closing::new(snippet.owner(), server_snippet::FIELD);
                    builder.closed.entry(namespace.clone()).or_insert(closing);
                    closed.insert((
                        snippet.owner().clone(),
                        server_snippet::FIELD,
                        cause.clone(),
                    ));
                }
                cause.is_none()
            });
            let rewrites = |rule: &PathRule| rewrite(&rule.annotations.direct_responses);
            for rule in builder.rules_mut().filter(|rule| rewrites(rule)) {
                let Some(cause) = causes.get(&rule.owner.key.namespace) else {
                    continue;
                };
                rule.target = RouteTarget::from_action(Action::Denied);
                closed.insert((rule.owner.clone(), CONFIGURATION_SNIPPET, cause.clone()));
            }
        }
        for (object, field, cause) in closed {
            let of_another = match object == cause {
                true => String::new(),
                false => format!(", as in {cause}"),
            };
            self.report(&object).report(
                ReasonCode::Unsupported,
                Severity::Error,
                field,
                format!(
                    "rewrite is not supported where paths are regular expressions (use-regex, rewrite-target) or have more \
                     than {MAX_PATH} bytes{of_another}"
                ),
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
