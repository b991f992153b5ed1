//! Snippets: raw nginx configuration. No data plane gets any of it (R1 of the security rules); what the model can say becomes
//! policies of routes.

use std::sync::Arc;

use sluice_ir::{DirectResponse, Filter, HeaderName, IpAccess, Policy, ReasonCode};
use sluice_translate_engine::Severity;

use super::alternatives::alternatives;
use super::catalogue::{Annotation, Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::snippet::{self, Compiled, Effective, Judgement, Place, compile};
use crate::support::{AppliesTo, DataPlane};

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
            "changes of headers, return, if, set, allow and deny (docs/snippets.md), with allow-snippet-annotations and \
             annotations-risk-level: Critical; others are reported with alternatives",
        ),
        annotation(
            "server-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .partly(
            "return, if, set, allow and deny (docs/snippets.md), with allow-snippet-annotations and \
             annotations-risk-level: Critical; others are reported with alternatives",
        ),
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
    /// Direct responses of its routes.
    pub(super) direct_responses: Vec<DirectResponse>,
    /// Lists of networks for its routes, if it has any.
    pub(super) access: Option<IpAccess>,
    /// Policies of its hosts.
    pub(super) server: Option<Arc<ServerSnippet>>,
    /// One of the server may guard: what it closes is all that the namespace has of the hosts.
    pub(super) closes_host: bool,
}

/// Policies of a `server-snippet`, for all that its namespace has of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSnippet {
    /// Before those of routes.
    pub(crate) direct_responses: Vec<DirectResponse>,
    /// For routes without lists of their own.
    pub(crate) access: IpAccess,
}

/// Reason why a snippet is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    /// None of its kind is, or none of such an Ingress.
    Kind,
    /// Its first line that the model cannot say.
    Line(usize),
    /// Settings of the operator alone.
    Settings,
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
    for snippet in std::mem::take(&mut view.snippets) {
        let is_allowed = !snippet.is_too_risky && route.globals.trust.admission.allow_snippets;
        let obstacle = match compiled(snippet, route) {
            None => Obstacle::Kind,
            Some(Err(line)) => Obstacle::Line(line),
            Some(Ok(compiled)) if is_allowed && compiled != Compiled::default() => {
                note_differences(view, snippet, &compiled);
                effect.take(compiled, snippet);
                continue;
            }
            Some(Ok(_)) => Obstacle::Settings,
        };
        effect.closes_host |= refuse(view, snippet, obstacle, route);
    }
    effect
}

impl Effect {
    /// With several data planes a snippet is here once for each.
    fn take(&mut self, compiled: Compiled, snippet: Snippet<'_>) {
        let Compiled {
            filters,
            adds_to_errors: _,
            direct_responses,
            access,
        } = compiled;
        if snippet.annotation.name == "server-snippet" {
            self.server = Some(Arc::new(ServerSnippet {
                direct_responses,
                access,
            }));
        } else {
            self.filters = filters;
            self.direct_responses = direct_responses;
            self.access = Some(access).filter(|access| *access != IpAccess::default());
        }
    }
}

/// `None`: it is of a kind that is never served.
fn compiled(snippet: Snippet<'_>, route: Route<'_>) -> Option<Result<Compiled, usize>> {
    let place = match snippet.annotation.name {
        "configuration-snippet" if !route.is_redirect => Place::Location,
        "server-snippet" => Place::Server,
        _ => return None,
    };
    let compiled = compile(snippet.text, place, &|name| is_taken(name, route));
    // nginx would put its lists behind those of the annotations.
    let has_two = |compiled: &Compiled| {
        place == Place::Location
            && compiled.access != IpAccess::default()
            && route.policy.ip_access != IpAccess::default()
    };
    Some(compiled.and_then(|compiled| match has_two(&compiled) {
        true => Err(1),
        false => Ok(compiled),
    }))
}

fn note_differences(view: &mut View<'_, '_>, snippet: Snippet<'_>, compiled: &Compiled) {
    if compiled.adds_to_errors {
        let reason = snippet
            .applies_to
            .note("add_header without always adds the header to errors, too");
        let name = snippet.annotation.name;
        let consequence = "served with this difference";
        view.note(ReasonCode::PartiallySupported, name, reason, consequence);
    }
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

/// Reports a snippet that is not served; `true`: it closes all that the namespace has of the hosts.
fn refuse(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    obstacle: Obstacle,
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
    let (severity, consequence) = consequence(closing, obstacle);
    // Its directives are of another place, where others take theirs.
    let advice = if annotation.name == "auth-snippet" {
        usual.to_owned()
    } else {
        advice
    };
    let is_allowed = !is_too_risky && route.globals.trust.admission.allow_snippets;
    let (code, reason) = if obstacle == Obstacle::Settings && !is_allowed {
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

fn consequence(closing: Option<String>, obstacle: Obstacle) -> (Severity, String) {
    match (closing, obstacle) {
        (Some(closing), _) => {
            let consequence = format!("{closing}; affected paths answer 503");
            (Severity::Error, consequence)
        }
        (None, Obstacle::Line(line)) => {
            let consequence = format!("served without it because of line {line}");
            (Severity::Warning, consequence)
        }
        (None, Obstacle::Kind | Obstacle::Settings) => {
            (Severity::Warning, "served without it".to_owned())
        }
    }
}
