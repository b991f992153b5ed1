//! `rewrite` in snippets, where paths are long patterns or texts: Envoy compares the path with both.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Action, DirectResponse, ReasonCode, ResponseContent};
use sluice_pattern::Subject;
use sluice_syntax::shortened;
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::closing::Closing;
use super::path_rule::{PathRule, RouteTarget};
use super::patterns::regex;
use super::{Assembly, server_snippet};

const CONFIGURATION_SNIPPET: &str = "annotation configuration-snippet";

impl Assembly<'_> {
    /// Closes the paths of such snippets.
    pub(super) fn close_rewrites_beside_long_paths(&mut self) {
        let mut closed: BTreeSet<(ObjectRef, &str, String)> = BTreeSet::new();
        let of_configmap = self.location_beside_rewrites();
        for builder in self.builders.values_mut() {
            let rewrites = |rule: &PathRule| rewrite(&rule.annotations.direct_responses);
            let mut snippets = builder.snippets.values();
            // To compare paths takes long.
            if !snippets.any(|snippet| snippet.rewrites()) && !builder.rules().any(rewrites) {
                continue;
            }
            let mut causes = BTreeMap::new();
            for rule in builder.rules().filter(|rule| !is_comparable(rule)) {
                let namespace = rule.owner.key.namespace.clone();
                causes
                    .entry(namespace)
                    .or_insert_with(|| rule.owner.clone());
            }
            if causes.is_empty() && of_configmap.is_none() {
                continue;
            }
            builder.snippets.retain(|namespace, snippet| {
                let cause = || Some(shown(snippet.owner(), causes.get(namespace)?));
                let cause = cause().or_else(|| of_configmap.clone());
                let cause = cause.filter(|_| snippet.rewrites());
                if let Some(cause) = &cause {
                    let closing = Closing::new(snippet.owner(), server_snippet::FIELD);
                    builder.closed.insert(namespace, closing);
                    closed.insert((
                        snippet.owner().clone(),
                        server_snippet::FIELD,
                        cause.clone(),
                    ));
                }
                cause.is_none()
            });
            for rule in builder.rules_mut().filter(|rule| rewrites(rule)) {
                let Some(cause) = causes.get(&rule.owner.key.namespace) else {
                    continue;
                };
                rule.target = RouteTarget::from_action(Action::Denied);
                let cause = shown(&rule.owner, cause);
                closed.insert((rule.owner.clone(), CONFIGURATION_SNIPPET, cause));
            }
        }
        for (object, field, cause) in closed {
            self.report(&object).report(
                ReasonCode::Unsupported,
                Severity::Error,
                field,
                format!(
                    "rewrite is not supported where paths are as long or complex as this one{cause}"
                ),
                concat!("snippet not served; ", closed_text!()),
            );
        }
    }
}

impl Assembly<'_> {
    /// A location of the ConfigMap that Envoy cannot compare beside a `rewrite`, which it has of the `server-snippet` of each namespace.
    fn location_beside_rewrites(&self) -> Option<String> {
        let locations = &self.globals.server_snippet.as_ref()?.locations;
        let mut paths = locations.iter().map(|location| &location.path);
        let path = paths.find(|path| !path.is_comparable())?.written();
        let name = self.globals.server_snippet_name();
        Some(format!(", as in location {:?} of {name}", shortened(&path)))
    }
}

/// Addition to a report to an Ingress about a path of its own, or of another one.
fn shown(object: &ObjectRef, cause: &ObjectRef) -> String {
    match object == cause {
        true => String::new(),
        false => format!(", as in {cause}"),
    }
}

/// True if Envoy can compare the path of a rule beside that of a `rewrite`.
fn is_comparable(rule: &PathRule) -> bool {
    match regex(rule, false) {
        Ok(regex) if regex.backtracking => false,
        Ok(regex) => sluice_pattern::is_comparable_with_query(
            &regex.pattern,
            Subject::Path,
            regex.alternatives,
        ),
        Err(_) => {
            let text = sluice_pattern::escape(&rule.path);
            sluice_pattern::is_comparable_with_query(&text, Subject::Path, false)
        }
    }
}

/// True if one of them rewrites.
pub(super) fn rewrite(responses: &[DirectResponse]) -> bool {
    let mut contents = responses.iter().map(|response| &response.content);
    contents.any(|content| matches!(content, ResponseContent::Rewritten { .. }))
}
