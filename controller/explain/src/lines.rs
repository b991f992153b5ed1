//! An explanation as lines for people: a word, and what it is.

use serde::Serialize;
use serde_json::Value;
use sluice_ir::{BackendId, Filter, VerifyClient};

use crate::canary::canary_rules;
use crate::{
    Backend, Choice, Explanation, GlobalHeaders, Outcome, Route, Selection, Words, headers,
};

/// A word, empty where it is that of the line before, and what it is.
pub type Line = (&'static str, String);

/// Why a path is answered with 400.
const NO_PATH: &str =
    "it means nothing: a % without two hex digits, %00, or more .. than there are segments";

/// The way of a request: listener, host, certificate, path, headers. Its policies are those of annotations, which the model does not know.
#[must_use]
pub fn way(explanation: &Explanation, words: &Words<'_>) -> Vec<Line> {
    let mut lines = vec![("listener", explanation.listener.clone())];
    lines.extend(explanation.server.as_ref().map(|name| {
        let name = if name == "_" { "any other host" } else { name };
        ("host", name.to_owned())
    }));
    let certificate = explanation.certificate.as_deref();
    lines.extend(certificate.map(|id| {
        let name = words.certificate.unwrap_or(id);
        ("certificate", name.to_owned())
    }));
    let clients = explanation.client_certificates.as_ref();
    lines.extend(clients.and_then(|clients| of_clients(clients.verify)));
    let route = explanation.route.as_ref();
    lines.extend(words.path(route).map(|path| ("path", path)));
    lines.extend(
        explanation
            .has_no_path
            .then(|| ("path", NO_PATH.to_owned())),
    );
    lines.extend(changed_headers(&explanation.global_headers, route));
    lines
}

/// Headers that are changed on the way, a line for each.
fn changed_headers(global: &GlobalHeaders, route: Option<&Route>) -> Vec<Line> {
    let host = global.host.iter();
    let host = host.map(|value| ("to upstream", vec![format!("Host: {value}")]));
    let own = route.into_iter().flat_map(|route| &route.filters);
    let filters = global.filters.iter().chain(own).map(|filter| {
        let word = match filter {
            Filter::RequestHeaders(_) => "to upstream",
            Filter::ResponseHeaders(_) => "to client",
        };
        (word, headers::of_filter(filter))
    });
    let variants = route.into_iter().flat_map(|route| &route.header_variants);
    let variants = variants.map(headers::of_variant);
    let variants = variants.map(|changes| ("to client", changes));
    let mut lines: Vec<Line> = host
        .chain(filters)
        .chain(variants)
        .flat_map(|(word, changes)| changes.into_iter().map(move |change| (word, change)))
        .collect();
    let mut last = "";
    for (word, _) in &mut lines {
        let is_again = std::mem::replace(&mut last, *word) == *word;
        if is_again {
            *word = "";
        }
    }
    lines
}

/// Certificates that clients need.
fn of_clients(verify: VerifyClient) -> Option<Line> {
    let text = match verify {
        VerifyClient::Required => {
            "client certificate required; the response below is for a client with a valid one"
        }
        VerifyClient::Optional => "client certificate requested; one that is sent has to be valid",
        VerifyClient::Untrusted => "client certificate requested, and not verified",
        VerifyClient::Off => return None,
    };
    Some(("tls", text.to_owned()))
}

/// End of a request's way: the response, or the pods. `name`: what a backend is called.
#[must_use]
pub fn end(outcome: &Outcome, words: &Words<'_>, name: &dyn Fn(&BackendId) -> String) -> Vec<Line> {
    match outcome {
        Outcome::Respond { status } => vec![("response", status.to_string())],
        Outcome::Denied => {
            let reason = words
                .closed
                .unwrap_or("access control that cannot be enforced");
            vec![("response", format!("503: {reason}"))]
        }
        Outcome::Redirect { status, location } => {
            vec![("response", format!("{status} to {location}"))]
        }
        Outcome::Passthrough { backend } => of_backend("passthrough", backend, name),
        Outcome::Forward {
            path,
            backends,
            canaries,
            selection,
        } => {
            let mut lines = vec![("upstream", path.clone())];
            let selection = selection.iter();
            lines.extend(selection.flat_map(|selection| of_selection(selection, name)));
            for canary in canaries {
                let mut of_canary = of_backend("canary", &canary.backend, name);
                let rules = canary_rules(&canary.rules);
                of_canary.splice(1..1, rules.into_iter().map(|rule| ("", rule)));
                lines.extend(of_canary);
            }
            lines.extend(
                backends
                    .iter()
                    .flat_map(|backend| of_backend("backend", backend, name)),
            );
            lines
        }
    }
}

/// The backend of a request, and why.
fn of_selection(selection: &Selection, name: &dyn Fn(&BackendId) -> String) -> Vec<Line> {
    let named = |id: &str| name(&BackendId::new(id));
    let choice = match &selection.choice {
        Choice::Canary { backend, rule } => format!("canary {}: {rule}", named(backend)),
        Choice::Weight { parts } => {
            let parts = parts.iter().map(|part| {
                let word = if part.is_canary {
                    "canary"
                } else {
                    "main backend"
                };
                format!("{}% {word} {}", part.percent, named(&part.backend))
            });
            format!("by weight: {}", parts.collect::<Vec<_>>().join(", "))
        }
        Choice::Main { backend, canaries } => {
            let reasons = canaries
                .iter()
                .map(|kept| format!("canary {}: {}", named(&kept.backend), kept.reason));
            let reasons: Vec<String> = reasons.collect();
            format!("main backend {}; {}", named(backend), reasons.join("; "))
        }
    };
    let mut lines = vec![("goes to", choice)];
    lines.extend(selection.session_cookie.iter().map(|cookie| {
        let text =
            format!("unless cookie {cookie} belongs to a session, which stays on its backend");
        ("", text)
    }));
    if !selection.is_served {
        let text = "503 for all requests: the main backend has no endpoints".to_owned();
        lines.push(("", text));
    }
    lines
}

fn of_backend(
    word: &'static str,
    backend: &Backend,
    name: &dyn Fn(&BackendId) -> String,
) -> Vec<Line> {
    let mut lines = vec![(word, name(&BackendId::new(backend.id.as_str())))];
    let Some(settings) = &backend.settings else {
        return lines;
    };
    if backend.weight != 1 {
        lines.push(("", format!("weight {}", backend.weight)));
    }
    lines.push(("", balancing(settings)));
    if settings.endpoints.is_empty() {
        lines.push(("", "no endpoints: 503".to_owned()));
    }
    lines.extend(settings.endpoints.iter().map(|endpoint| {
        let states = [
            (endpoint.draining, " (draining)"),
            (endpoint.backup, " (backup)"),
            (endpoint.unhealthy, " (unhealthy)"),
        ];
        let states = states.iter().filter(|(is_so, _)| *is_so);
        let states: String = states.map(|(_, state)| *state).collect();
        ("", format!("{}{states}", endpoint.address))
    }));
    lines
}

/// How a pod is chosen, and when it is not.
#[must_use]
pub fn balancing(backend: &sluice_ir::Backend) -> String {
    let algorithm = json(&backend.load_balance);
    let affinity = backend.affinity.as_ref();
    let sticky = affinity.map(|it| format!(", sessions by cookie {}", it.cookie.name));
    let slow_start = backend.health.slow_start;
    let slow_start = slow_start.map(|it| format!(", slow start of {it} s"));
    let outlier_detection = backend.health.outlier_detection.as_ref();
    let ejection = outlier_detection.map(|it| {
        let (failures, time) = (it.consecutive_failures, it.base_ejection_seconds);
        format!(", ejected for {time} s after {failures} failures in a row")
    });
    let more = [sticky, slow_start, ejection].into_iter().flatten();
    format!(
        "{}{}",
        algorithm.trim_matches('"'),
        more.collect::<String>()
    )
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .as_ref()
        .map_or_else(ToString::to_string, Value::to_string)
}
