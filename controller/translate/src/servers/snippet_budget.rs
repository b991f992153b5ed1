//! Limit on what snippets come to: every path of theirs has its own copy of their responses and conditions in each proxy, and
//! with CORS compares every origin as well. A snippet of 264 bytes for 1,000 paths once took Envoy to 1.3 GB.

use std::collections::BTreeMap;

use sluice_ir::{Action, AllowedOrigins, DirectResponse, HeaderVariant, ReasonCode};
use sluice_translate_engine::{ObjectRef, Severity, closed_text};

use super::closing::Closing;
use super::path_rule::{PathRule, RouteTarget};
use super::{Assembly, server_snippet};
use crate::snippet::header_size;

/// Responses of a snippet and their conditions, times the paths that it is for and their CORS origins.
pub(crate) const MAX_SNIPPET_CONDITIONS: usize = 5000;

pub(super) const FIELD: [&str; 2] = ["annotation configuration-snippet", server_snippet::FIELD];

/// Responses and conditions by Ingress: of `configuration-snippet`, and of `server-snippet`.
type Sizes = BTreeMap<ObjectRef, [usize; 2]>;

impl Assembly<'_> {
    pub(super) fn limit_cost_of_snippets(&mut self) {
        self.limit_snippets();
        self.limit_conditional_headers();
    }

    /// Closes the paths of snippets that are beyond the limit.
    fn limit_snippets(&mut self) {
        let mut beyond = self.snippet_sizes();
        beyond.retain(|_, sizes| sizes.iter().any(|size| *size > MAX_SNIPPET_CONDITIONS));
        for (object, sizes) in &beyond {
            for (field, size) in FIELD.into_iter().zip(sizes) {
                if *size <= MAX_SNIPPET_CONDITIONS {
                    continue;
                }
                let reason = format!(
                    "expected at most {MAX_SNIPPET_CONDITIONS} responses and conditions, times paths and CORS origins, got \
                     {size}"
                );
                let closed = concat!("snippet not served; ", closed_text!());
                self.report(object).report(
                    ReasonCode::LimitExceeded,
                    Severity::Error,
                    field,
                    reason,
                    closed,
                );
            }
        }
        let is_beyond = |object: &ObjectRef, which: usize| {
            let sizes = beyond.get(object);
            sizes.is_some_and(|sizes| sizes[which] > MAX_SNIPPET_CONDITIONS)
        };
        for builder in self.builders.values_mut() {
            builder.snippets.retain(|namespace, snippet| {
                let is_kept = !is_beyond(snippet.owner(), 1);
                if !is_kept {
                    let closing = Closing::new(snippet.owner(), FIELD[1]);
                    builder.closed.insert(namespace, closing);
                }
                is_kept
            });
            for rule in builder.rules_mut() {
                if is_beyond(&rule.owner, 0) {
                    rule.target = RouteTarget::from_action(Action::Denied);
                }
            }
        }
    }

    fn snippet_sizes(&self) -> Sizes {
        let mut sizes = Sizes::new();
        for builder in self.builders.values() {
            for snippet in builder.snippets.values() {
                sizes.entry(snippet.owner().clone()).or_default()[1] += snippet.size_of_locations();
            }
            for rule in builder.rules() {
                let annotations = &rule.annotations;
                let own = annotations
                    .direct_responses
                    .iter()
                    .map(DirectResponse::size);
                // Each changed path is a route with all of them.
                let changes = annotations.path_changes.len();
                let variants = annotations.header_variants.iter();
                let variants: usize = variants.map(HeaderVariant::size).sum();
                let own =
                    own.sum::<usize>() + variants + changes + header_size(&annotations.filters);
                let own = own.saturating_sub(annotations.location_snippet.size);
                let snippet = builder.snippets.get(&rule.owner.key.namespace);
                // A path that the server changes is a route with everything of where it arrives, which may be here.
                let rewrites = snippet.map_or(0, |snippet| snippet.path_rewrites().len());
                let own = own * (1 + changes + rewrites) * copies(rule);
                if own > 0 {
                    sizes.entry(rule.owner.clone()).or_default()[0] += own;
                }
                if let Some(snippet) = snippet {
                    let of_rewrites = rewrites * (1 + snippet.size());
                    let of_server = (snippet.size() + of_rewrites) * copies(rule);
                    sizes.entry(snippet.owner().clone()).or_default()[1] += of_server;
                }
            }
        }
        sizes
    }
}

/// How often Envoy has the responses of a path.
pub(super) fn copies(rule: &PathRule) -> usize {
    match rule
        .annotations
        .policy
        .cors
        .as_ref()
        .map(|cors| &cors.origins)
    {
        Some(AllowedOrigins::Only(origins)) => 2 + origins.len(),
        Some(AllowedOrigins::Any) | None => 1,
    }
}
