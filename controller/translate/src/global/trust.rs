//! Trust in tenants: risk of annotations, words in them, snippets, references across namespaces.

use sluice_syntax::value;

use super::keys::{Key, key};
use super::values::owned;
use super::view::View;
use crate::risk::Risk;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("allow-cross-namespace-resources", "false").full(),
    key("allow-snippet-annotations", "false").partly("they are admitted, but never served"),
    key("annotation-value-word-blocklist", "").full(),
    key("annotations-risk-level", "High").full(),
    key("global-allowed-response-headers", "").full(),
    key("strict-validate-path-type", "true").full(),
];

/// Settings of the admission webhook alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionSettings {
    /// `strict-validate-path-type`: refuse what is no plain path in an Exact or Prefix path; otherwise warn.
    pub(crate) path_types: bool,
    /// `allow-snippet-annotations`: warn of snippets instead of refusing them. They are never served.
    pub(crate) allow_snippets: bool,
}

/// Trust in the owners of Ingresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trust {
    pub(crate) risk: Risk,
    pub(crate) blocked_words: Vec<String>,
    /// `allow-cross-namespace-resources`
    pub(crate) across_namespaces: bool,
    /// `global-allowed-response-headers`
    pub(crate) allowed_headers: Vec<String>,
    pub(crate) admission: AdmissionSettings,
}

impl Default for Trust {
    fn default() -> Self {
        Trust {
            risk: Risk::High,
            blocked_words: Vec::new(),
            across_namespaces: false,
            allowed_headers: Vec::new(),
            admission: AdmissionSettings {
                path_types: true,
                allow_snippets: false,
            },
        }
    }
}

impl Trust {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        // Anything unknown is the lowest, as in ingress-nginx.
        view.set(&mut self.risk, "annotations-risk-level", |text| {
            Ok(Risk::parse(text).unwrap_or(Risk::Low))
        });
        view.set(
            &mut self.blocked_words,
            "annotation-value-word-blocklist",
            |text| Ok(owned(text)),
        );
        view.set(
            &mut self.across_namespaces,
            "allow-cross-namespace-resources",
            value::bool,
        );
        view.set(
            &mut self.allowed_headers,
            "global-allowed-response-headers",
            |text| Ok(owned(text)),
        );
        view.set(
            &mut self.admission.path_types,
            "strict-validate-path-type",
            value::bool,
        );
        view.set(
            &mut self.admission.allow_snippets,
            "allow-snippet-annotations",
            value::bool,
        );
    }
}
