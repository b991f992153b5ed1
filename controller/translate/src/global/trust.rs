//! Trust in tenants: risk of annotations, words in them, snippets, references across namespaces.

use sluice_ir::ReasonCode;
use sluice_syntax::{shortened, value};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::values::owned;
use super::view::View;
use crate::risk::Risk;

const RISK: &str = "annotations-risk-level";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("allow-cross-namespace-resources", "false").full(),
    key("allow-snippet-annotations", "false").partly("snippets are admitted; what docs/snippets.md lists is served, with annotations-risk-level: Critical"),
    key("annotation-value-word-blocklist", "").full(),
    key(RISK, "High").full(),
    key("global-allowed-response-headers", "").full(),
    key("strict-validate-path-type", "true").full(),
];

/// Settings of the admission webhook alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionSettings {
    /// `strict-validate-path-type`: refuse what is no plain path in an Exact or Prefix path; otherwise warn.
    pub(crate) path_types: bool,
    /// `allow-snippet-annotations`: warn of snippets instead of refusing them, and serve those that can be served.
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
    /// Snippets of Ingresses may be served.
    pub(super) fn admits_snippets(&self) -> bool {
        self.risk == Risk::Critical && self.admission.allow_snippets
    }

    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        // Anything unknown is the lowest, as in ingress-nginx.
        self.risk = match view.text(RISK).map(|text| (text, Risk::parse(text))) {
            None => self.risk,
            Some((_, Some(risk))) => risk,
            Some((text, None)) => {
                let got = shortened(text);
                view.report(
                    ReasonCode::InvalidValue,
                    Severity::Warning,
                    RISK,
                    format!("expected Low, Medium, High or Critical, got {got:?}"),
                    "Low, as in ingress-nginx: annotations of a higher risk are refused",
                );
                Risk::Low
            }
        };
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
