//! Snippets: raw nginx configuration, which Sluice never takes (R1 of the security rules).

use sluice_ir::{Policy, ReasonCode};
use sluice_translate_engine::Severity;

use super::alternatives::alternatives;
use super::catalogue::{Annotation, Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::snippet::{self, Effective, Judgement};
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
        .instead(INSTEAD),
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

/// Reports all snippets, and closes the paths of those that may guard. `true`: what they close is all that the namespace has
/// of the hosts, as a snippet of the server holds for all of it.
pub(super) fn judge(
    view: &mut View<'_, '_>,
    policy: &Policy,
    data_plane: Option<DataPlane>,
) -> bool {
    let effective = Effective {
        largest_body: policy.max_body_size,
    };
    let mut closes_host = false;
    for Snippet {
        annotation,
        text,
        applies_to,
        advice: usual,
        is_too_risky,
    } in std::mem::take(&mut view.snippets)
    {
        let Some(language) = snippet::language(annotation.name) else {
            continue;
        };
        let Judgement {
            advice,
            closing,
            is_default,
        } = snippet::judge(text, language, effective, data_plane, alternatives);
        if is_default && !is_too_risky {
            let reason = applies_to.note("it says what is so without it");
            view.note(ReasonCode::NoEffect, annotation.name, reason, "not needed")
                .same_as_ingress_nginx = true;
            continue;
        }
        let (severity, consequence) = match closing {
            None => (Severity::Warning, "served without it".to_owned()),
            Some(closing) => {
                view.denied = true;
                closes_host |= annotation.name == "server-snippet";
                (
                    Severity::Error,
                    format!("{closing}; affected paths answer 503"),
                )
            }
        };
        // Its directives are of another place, where others take theirs.
        let advice = if annotation.name == "auth-snippet" {
            usual.to_owned()
        } else {
            advice
        };
        let field = format!("annotation {}", annotation.name);
        let report = view.reporter.report(
            ReasonCode::Unsupported,
            severity,
            field,
            applies_to.not_supported(&advice),
            consequence,
        );
        report.admission_denied |= is_too_risky;
    }
    closes_host
}
