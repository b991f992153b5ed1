//! Snippets: raw nginx configuration. No data plane gets any of it (R1 of the security rules); changes of headers become filters.

use sluice_ir::{Filter, HeaderName, Policy, ReasonCode};
use sluice_translate_engine::Severity;

use super::alternatives::alternatives;
use super::catalogue::{Annotation, Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::snippet::{self, Compiled, Effective, Judgement, compile};
use crate::support::{AppliesTo, DataPlane};

const INSTEAD: &str = "no raw nginx configuration; the report names alternatives to its directives";

pub(super) const GROUP: Group = Group {
    title: "Snippets",
    annotations: &[
        annotation(
            "configuration-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Location,
        )
        .snippet()
        .partly(
            "changes of headers (docs/snippets.md), with allow-snippet-annotations and annotations-risk-level: Critical; \
             others are reported with alternatives",
        ),
        annotation(
            "server-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .instead(INSTEAD),
        annotation(
            "stream-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .instead("no raw nginx configuration"),
    ],
};

/// A snippet of an Ingress, to be looked at when the rest is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snippet<'a> {
    pub(super) annotation: &'static Annotation,
    pub(super) text: &'a str,
    pub(super) applies_to: AppliesTo,
    /// Replacement for the snippet, whatever it contains.
    pub(super) advice: &'static str,
    /// The operator takes none of its risk.
    pub(super) is_too_risky: bool,
}

/// Effect of the snippets of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Filters of its routes.
    pub(super) filters: Vec<Filter>,
    /// One of the server may guard: what it closes is all that the namespace has of the hosts.
    pub(super) closes_host: bool,
}

/// Settings of the routes that snippets are of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route<'a> {
    pub(super) policy: &'a Policy,
    pub(super) is_redirect: bool,
    pub(super) globals: &'a Globals,
    pub(super) data_plane: Option<DataPlane>,
}

/// Serves the snippets that can be served, reports all others, and closes the paths of those that may guard.
pub(super) fn judge(view: &mut View<'_, '_>, route: Route<'_>) -> Effect {
    let mut effect = Effect::default();
    let mut is_new = true;
    for snippet in std::mem::take(&mut view.snippets) {
        let is_of_location = snippet.annotation.name == "configuration-snippet";
        let compiled = (is_of_location && !route.is_redirect)
            .then(|| compile(snippet.text, &|name| is_taken(name, route)));
        let is_allowed = !snippet.is_too_risky && route.globals.trust.admission.allow_snippets;
        match compiled {
            Some(Ok(Compiled {
                filters,
                adds_to_errors,
            })) if is_allowed && !filters.is_empty() => {
                // With several data planes it is here once for each.
                if std::mem::take(&mut is_new) {
                    effect.filters = filters;
                }
                if adds_to_errors {
                    let reason = snippet
                        .applies_to
                        .note("add_header without always adds the header to errors, too");
                    let name = snippet.annotation.name;
                    let consequence = "served with this difference";
                    view.note(ReasonCode::PartiallySupported, name, reason, consequence);
                }
            }
            compiled => {
                effect.closes_host |= refuse(
                    view,
                    snippet,
                    compiled.map(|compiled| compiled.err()),
                    route,
                );
            }
        }
    }
    effect
}

/// Another setting of the route has a say about the header.
fn is_taken(name: &HeaderName, route: Route<'_>) -> bool {
    let (policy, global) = (route.policy, &route.globals.config);
    let cors = "access-control-";
    let headers = policy
        .response_headers
        .iter()
        .chain(&global.response_headers)
        .chain(&global.request_headers)
        .map(|header| &header.name)
        .chain(&policy.auth_headers)
        .chain(&global.hidden_headers);
    let lower = name.as_str().to_ascii_lowercase();
    headers
        .into_iter()
        .any(|known| known.is_alike(name.as_str()))
        || policy.cors.is_some() && lower.starts_with(cors)
        || global.hsts.is_some() && lower == "strict-transport-security"
}

/// Reports a snippet that is not served; `true`: it closes all that the namespace has of the hosts. `in_its_way`: the line
/// that is no filter, or only the settings of the operator.
fn refuse(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    in_its_way: Option<Option<usize>>,
    route: Route<'_>,
) -> bool {
    let Snippet {
        annotation,
        text,
        applies_to,
        advice: usual,
        is_too_risky,
    } = snippet;
    let Some(language) = snippet::language(annotation.name) else {
        return false;
    };
    let effective = Effective {
        largest_body: route.policy.max_body_size,
    };
    let Judgement {
        advice,
        closing,
        is_default,
    } = snippet::judge(text, language, effective, route.data_plane, alternatives);
    if is_default && !is_too_risky {
        let reason = applies_to.note("it says what is so without it");
        view.note(ReasonCode::NoEffect, annotation.name, reason, "not needed")
            .same_as_ingress_nginx = true;
        return false;
    }
    let closes = closing.is_some();
    view.denied |= closes;
    let (severity, consequence) = consequence(closing, in_its_way.flatten());
    // Its directives are of another place, where others take theirs.
    let advice = if annotation.name == "auth-snippet" {
        usual.to_owned()
    } else {
        advice
    };
    let is_allowed = !is_too_risky && route.globals.trust.admission.allow_snippets;
    let (code, reason) = if in_its_way == Some(None) && !is_allowed {
        let reason = "expected allow-snippet-annotations: \"true\" and annotations-risk-level: Critical in the ConfigMap";
        (ReasonCode::NotPermitted, reason.to_owned())
    } else {
        (ReasonCode::Unsupported, applies_to.not_supported(&advice))
    };
    let field = format!("annotation {}", annotation.name);
    let report = view
        .reporter
        .report(code, severity, field, reason, consequence);
    report.admission_denied |= is_too_risky;
    closes && annotation.name == "server-snippet"
}

/// `line`: the one that is no filter.
fn consequence(closing: Option<String>, line: Option<usize>) -> (Severity, String) {
    match (closing, line) {
        (Some(closing), _) => {
            let consequence = format!("{closing}; affected paths answer 503");
            (Severity::Error, consequence)
        }
        (None, Some(line)) => {
            let consequence = format!("served without it because of line {line}");
            (Severity::Warning, consequence)
        }
        (None, None) => (Severity::Warning, "served without it".to_owned()),
    }
}
