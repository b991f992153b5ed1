//! Limit on the headers that errors do not have: to Envoy each part of their values is a program, which takes it 11 KB and half a
//! millisecond for every path. 16 lines for 300 paths once held up the changes of others for 47 s.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{Filter, ReasonCode};
use sluice_translate_engine::{ObjectRef, Severity};

use super::snippet_budget::{FIELD, copies};
use super::{Assembly, server_snippet::NamespaceSnippet};
use crate::annotations::Annotations;
use crate::snippet::header_programs;

/// Parts of values of such headers, times the paths that they are for and their CORS origins.
pub(crate) const MAX_CONDITIONAL_HEADERS: usize = 1000;

impl Assembly<'_> {
    /// Sends headers with errors, too, where there are more.
    pub(super) fn limit_conditional_headers(&mut self) {
        let mut sizes: BTreeMap<ObjectRef, [usize; 2]> = BTreeMap::new();
        for builder in self.builders.values() {
            for rule in builder.rules() {
                let own = programs_of(&rule.annotations) * copies(rule);
                let snippet = builder.snippets.get(&rule.owner.key.namespace);
                let of_server = snippet.map(|it| {
                    (
                        it.owner(),
                        header_programs(it.filters(), &[]) * copies(rule),
                    )
                });
                if own > 0 {
                    sizes.entry(rule.owner.clone()).or_default()[0] += own;
                }
                if let Some((owner, size)) = of_server.filter(|(_, size)| *size > 0) {
                    sizes.entry(owner.clone()).or_default()[1] += size;
                }
            }
        }
        sizes.retain(|_, sizes| sizes.iter().any(|size| *size > MAX_CONDITIONAL_HEADERS));
        for (object, sizes) in &sizes {
            let beyond = FIELD.into_iter().zip(sizes);
            for (field, size) in beyond.filter(|(_, size)| **size > MAX_CONDITIONAL_HEADERS) {
                let reason = format!(
                    "expected at most {MAX_CONDITIONAL_HEADERS} parts of add_header without always, times paths and CORS origins, \
                     got {size}"
                );
                self.report(object).report(
                    ReasonCode::LimitExceeded,
                    Severity::Warning,
                    field,
                    reason,
                    "added to errors, too",
                );
            }
        }
        let is_beyond = |object: &ObjectRef, which: usize| {
            sizes
                .get(object)
                .is_some_and(|sizes| sizes[which] > MAX_CONDITIONAL_HEADERS)
        };
        for builder in self.builders.values_mut() {
            let snippets = builder.snippets.values_mut();
            for snippet in snippets.filter(|it| is_beyond(it.owner(), 1)) {
                snippet.add_headers_to_errors();
            }
            for rule in builder.rules_mut() {
                if is_beyond(&rule.owner, 0) {
                    let annotations = Arc::make_mut(&mut rule.annotations);
                    add_to_errors(&mut annotations.filters);
                    let variants = annotations.header_variants.iter_mut();
                    variants.for_each(|variant| variant.headers.add_to_errors());
                }
            }
        }
    }
}

impl NamespaceSnippet {
    fn add_headers_to_errors(&mut self) {
        Arc::make_mut(&mut self.snippet).add_to_errors();
    }

    fn filters(&self) -> &[Filter] {
        &self.snippet.filters
    }
}

/// Those of the Ingress itself: the ConfigMap's are no fault of it.
fn programs_of(annotations: &Annotations) -> usize {
    let all = header_programs(&annotations.filters, &annotations.header_variants);
    all.saturating_sub(annotations.location_snippet.programs)
}

fn add_to_errors(filters: &mut [Filter]) {
    for headers in filters.iter_mut().filter_map(Filter::response_headers_mut) {
        headers.add_to_errors();
    }
}
