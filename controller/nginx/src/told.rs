//! Headers for pods and for clients. nginx takes those of a location instead of those around it, so a location that has
//! one of its own says all of them.

use sluice_ir::{ClientCertificates, Edge, ErrorRequest, Header, Hsts, Location};

use crate::conf::{Text, Value, Word, value, word};
use crate::expression::{HOST, PORT, REQUEST_ID, SCHEME, expression};
use crate::{cors, guard, tls};

/// A header and what it says.
pub(crate) type Line = (Word, Value);

/// What nginx hides of a pod's answer without being told to.
const HIDDEN_ALWAYS: &str = "server";

/// The header that says who the client is.
pub(crate) fn client_header(edge: &Edge) -> &str {
    edge.forwarded.client.as_deref().unwrap_or("x-forwarded-for")
}

/// The same as a variable.
pub(crate) fn client_variable(edge: &Edge) -> Text {
    Text::default().variable(&format!("http_{}", client_header(edge)))
}

/// What pods are told, as ingress-nginx tells them, except where the operator or the location says otherwise.
pub(crate) fn pods(edge: &Edge, own: Vec<(String, Text)>) -> Vec<Line> {
    let operators =
        edge.request_headers.iter().map(|header| (header.name.clone(), expression(&header.value)));
    let mut lines: Vec<(String, Text)> = Vec::new();
    // nginx would send each that is named twice twice.
    for (name, text) in own.into_iter().chain(operators).chain(usual(edge)) {
        if !lines.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            lines.push((name, text));
        }
    }
    lines.into_iter().map(|(name, text)| (word(name), text.quoted())).collect()
}

fn usual(edge: &Edge) -> impl Iterator<Item = (String, Text)> {
    let forwarded = &edge.forwarded;
    let chain = if forwarded.keep_chain { "sluice_chain" } else { "remote_addr" };
    let variables = [
        ("Host", HOST),
        ("Upgrade", "http_upgrade"),
        ("Connection", "sluice_connection"),
        ("X-Request-ID", REQUEST_ID),
        ("X-Real-IP", "remote_addr"),
        ("X-Forwarded-For", chain),
        ("X-Forwarded-Host", HOST),
        ("X-Forwarded-Port", PORT),
        ("X-Forwarded-Proto", SCHEME),
        ("X-Forwarded-Scheme", SCHEME),
        ("X-Scheme", SCHEME),
        ("X-Original-Forwarded-Host", "http_x_forwarded_host"),
    ];
    let variables = variables.map(|(name, variable)| (name, Text::default().variable(variable)));
    let original_uri = ("X-Original-URI", Text::default().variable("request_uri"));
    let others = [("X-Original-Forwarded-For", client_variable(edge)), ("Proxy", Text::default())];
    let all = variables.into_iter().chain(others).chain(forwarded.original_uri.then_some(original_uri));
    all.map(|(name, text)| (name.to_owned(), text))
}

/// What pods are told by a location alone.
pub(crate) fn pods_of(location: &Location, clients: Option<&ClientCertificates>) -> Vec<(String, Text)> {
    let policy = &location.policy;
    let text = |text: &str| Text::default().then(text);
    let mut own = Vec::new();
    own.extend(policy.host.as_ref().map(|host| ("Host".to_owned(), expression(host))));
    own.extend(policy.connection.as_ref().map(|connection| ("Connection".to_owned(), text(connection))));
    let prefix = location.rewrite.as_ref().and(policy.forwarded_prefix.as_ref());
    own.extend(prefix.map(|prefix| ("X-Forwarded-Prefix".to_owned(), text(prefix))));
    own.extend(location.error.iter().flat_map(of_error));
    own.extend(clients.into_iter().flat_map(tls::told));
    own.extend(policy.guard.iter().flat_map(guard::pods_of));
    own
}

/// What an error service is told, as ingress-nginx tells it.
pub(crate) fn of_error(error: &ErrorRequest) -> Vec<(String, Text)> {
    let ErrorRequest { status, place } = error;
    let text = |text: &str| Text::default().then(text);
    let lines = [
        ("X-Code", text(&status.to_string())),
        ("X-Format", Text::default().variable("http_accept")),
        ("X-Namespace", text(&place.namespace)),
        ("X-Ingress-Name", text(&place.ingress)),
        ("X-Service-Name", text(&place.service)),
        ("X-Service-Port", text(&place.port)),
    ];
    lines.map(|(name, text)| (name.to_owned(), text)).into()
}

/// What clients are told.
#[derive(Default)]
pub(crate) struct Clients {
    pub(crate) lines: Vec<Line>,
    pub(crate) hidden: Vec<Word>,
    pub(crate) passes_server: bool,
}

impl Clients {
    /// By all locations.
    pub(crate) fn of_all(edge: &Edge) -> Self {
        Clients::with(edge, Vec::new())
    }

    /// By one that has something to say beside that.
    pub(crate) fn of(location: &Location, edge: &Edge) -> Option<Self> {
        let policy = &location.policy;
        let own =
            policy.response_headers.iter().map(|header| (header.name.clone(), expression(&header.value)));
        let cors = policy.cors.iter().flat_map(cors::headers);
        let own: Vec<_> = own.chain(cors).collect();
        let has_cookies = policy.guard.as_ref().is_some_and(|guard| guard.question.is_some());
        (has_cookies || !own.is_empty()).then(|| Clients::with(edge, own))
    }

    fn with(edge: &Edge, own: Vec<(String, Text)>) -> Self {
        let said = |header: &Header| (header.name.clone(), expression(&header.value));
        let hsts = edge
            .hsts
            .iter()
            .map(|_| ("Strict-Transport-Security".to_owned(), Text::default().variable("sluice_hsts")));
        let mut lines: Vec<(String, Text)> = Vec::new();
        for (name, text) in own.into_iter().chain(edge.response_headers.iter().map(said)).chain(hsts) {
            if !lines.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                lines.push((name, text));
            }
        }
        let is_always = |name: &&String| name.eq_ignore_ascii_case(HIDDEN_ALWAYS);
        let replaced = lines.iter().map(|(name, _)| name);
        let hidden = edge.hidden_headers.iter().filter(|name| !is_always(name)).chain(replaced);
        Clients {
            hidden: hidden.map(word).collect(),
            passes_server: !edge.hidden_headers.iter().any(|name| is_always(&name)),
            lines: lines.into_iter().map(|(name, text)| (word(name), text.quoted())).collect(),
        }
    }
}

/// `Strict-Transport-Security`, for answers over https.
pub(crate) fn hsts(hsts: &Hsts) -> Value {
    let Hsts { max_age, include_subdomains, preload } = hsts;
    let subdomains = if *include_subdomains { "; includeSubDomains" } else { "" };
    let preload = if *preload { "; preload" } else { "" };
    value(format!("max-age={max_age}{subdomains}{preload}"))
}

#[cfg(test)]
mod tests {
    use sluice_ir::Expression;

    use super::*;

    #[test]
    fn a_header_of_the_operator_is_sent_once_and_one_of_the_location_instead_of_it() {
        let header = Header { name: "x-real-ip".to_owned(), value: Expression::literal("mine") };
        let edge = Edge { request_headers: vec![header], ..Edge::default() };
        let said = |own| {
            let lines = pods(&edge, own).into_iter();
            let lines = lines.map(|(name, value)| format!("{} {}", name.0, value.0));
            lines.filter(|line| line.to_ascii_lowercase().contains("x-real-ip")).collect::<Vec<_>>()
        };
        assert_eq!(said(Vec::new()), [r#""x-real-ip" "mine""#]);
        let own = ("X-Real-IP".to_owned(), Text::default().then("own"));
        assert_eq!(said(vec![own]), [r#""X-Real-IP" "own""#]);
    }
}
