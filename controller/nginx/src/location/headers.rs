//! Request headers. nginx inherits none of them into a location that sets one of its own, so such a location sets all of them.

use std::collections::BTreeSet;

use sluice_ir::{
    ClientCertificates, Destination, ErrorRequest, ExpressionPart, Filter, GlobalConfig, Header,
    HeaderChange, HttpRoute, Variable, request_header_changes,
};

use crate::conf::{Text, Value, Word, word};
use crate::expression::{
    AUTHORITY, HOST, OWN_PORT, PORT, REQUEST_ID, SCHEME, UPGRADE, expression, template,
};
use crate::location::auth_request;
use crate::tls;
use crate::traces;

/// A header and its value.
pub(crate) type Line = (Word, Value);

/// The header with the client address.
pub(crate) fn client_header(global: &GlobalConfig) -> &str {
    global
        .forwarded
        .client_header
        .as_deref()
        .unwrap_or("x-forwarded-for")
}

/// The same as a variable.
pub(crate) fn client_variable(global: &GlobalConfig) -> Text {
    Text::default().variable(&format!("http_{}", client_header(global)))
}

/// Request headers to upstreams: those of ingress-nginx, unless the operator or the location sets them.
pub(crate) fn for_upstream(global: &GlobalConfig, own: Vec<(String, Text)>) -> Vec<Line> {
    lines(texts_for_upstream(global, own))
}

/// The same before they are quoted.
pub(crate) fn texts_for_upstream(
    global: &GlobalConfig,
    own: Vec<(String, Text)>,
) -> Vec<(String, Text)> {
    let host = global
        .host
        .iter()
        .map(|host| ("Host".to_owned(), expression(host)));
    let operators = host.chain(global.request_headers.iter().map(name_and_value));
    let mut seen = BTreeSet::new();
    // nginx would send each that is named twice twice.
    traces::headers(global)
        .into_iter()
        .chain(own)
        .chain(operators)
        .chain(defaults(global))
        .filter(|(name, _)| seen.insert(name.to_ascii_lowercase()))
        .collect()
}

pub(crate) fn lines(headers: Vec<(String, Text)>) -> Vec<Line> {
    headers
        .into_iter()
        .map(|(name, text)| (word(name), text.quoted()))
        .collect()
}

/// `Upgrade: $http_upgrade` of an operator is the usual one, which asks for no other HTTP.
pub(super) fn name_and_value(header: &Header) -> (String, Text) {
    let of_client = [ExpressionPart::Variable(Variable::Header(
        "upgrade".to_owned(),
    ))];
    let is_usual = header.name.is_alike("upgrade") && header.value.0 == of_client;
    let value = match is_usual {
        true => Text::default().variable(UPGRADE),
        false => expression(&header.value),
    };
    (header.name.as_str().to_owned(), value)
}

/// Those of ingress-nginx.
pub(crate) fn defaults(global: &GlobalConfig) -> impl Iterator<Item = (String, Text)> {
    let forwarded = &global.forwarded;
    let chain = if forwarded.append_forwarded_for {
        "sluice_chain"
    } else {
        "remote_addr"
    };
    // What nobody is believed about needs no map.
    let [host, port] = match forwarded.trust_forwarded {
        true => [HOST, PORT],
        false => [AUTHORITY, OWN_PORT],
    };
    let scheme = match forwarded.tells_scheme() {
        true => SCHEME,
        false => "scheme",
    };
    let variables = [
        ("Host", host),
        ("Upgrade", UPGRADE),
        ("Connection", "sluice_connection"),
        ("X-Request-ID", REQUEST_ID),
        ("X-Real-IP", "remote_addr"),
        ("X-Forwarded-For", chain),
        ("X-Forwarded-Host", host),
        ("X-Forwarded-Port", port),
        ("X-Forwarded-Proto", scheme),
        ("X-Forwarded-Scheme", scheme),
        ("X-Scheme", scheme),
        ("X-Original-Forwarded-Host", "http_x_forwarded_host"),
        ("CDN-Loop", "sluice_cdn_loop"),
    ];
    let variables = variables.map(|(name, variable)| (name, Text::default().variable(variable)));
    let original_uri = ("X-Original-URI", Text::default().variable("request_uri"));
    let others = [
        ("X-Original-Forwarded-For", client_variable(global)),
        ("Proxy", Text::default()),
    ];
    let all = variables
        .into_iter()
        .chain(others)
        .chain(forwarded.original_uri.then_some(original_uri));
    all.map(|(name, text)| (name.to_owned(), text))
}

/// Request headers to upstreams that one location sets.
pub(crate) fn for_location(
    route: &HttpRoute,
    clients: Option<&ClientCertificates>,
) -> Vec<(String, Text)> {
    let policy = &route.policy;
    let text = |text: &str| Text::default().then(text);
    let changes = request_header_changes(filters(route));
    let mut own: Vec<_> = changes.iter().map(request_header).collect();
    own.extend(
        policy
            .host
            .as_ref()
            .map(|host| ("Host".to_owned(), expression(host))),
    );
    own.extend(
        policy
            .connection
            .as_ref()
            .map(|connection| ("Connection".to_owned(), text(connection))),
    );
    own.extend(forwarded_prefix(route));
    own.extend(
        route
            .error_request
            .as_deref()
            .into_iter()
            .flat_map(for_error_service),
    );
    own.extend(
        clients
            .into_iter()
            .flat_map(tls::client_certificate_headers),
    );
    own.extend(auth_request::upstream_headers(policy));
    own
}

/// nginx compares other patterns before it sends a header, so groups are kept in a variable; `set` encodes those of an encoded path.
fn forwarded_prefix(route: &HttpRoute) -> Option<(String, Text)> {
    let value = match route.forwarded_prefix.as_ref()?.as_literal() {
        Some(literal) => Text::default().then(literal),
        None => Text::default().variable("sluice_forwarded_prefix"),
    };
    Some(("X-Forwarded-Prefix".to_owned(), value))
}

/// `X-Forwarded-Prefix` with groups of the location's pattern.
pub(crate) fn captured_prefix(route: &HttpRoute) -> Option<Value> {
    let prefix = route.forwarded_prefix.as_ref()?;
    let has_groups = prefix.as_literal().is_none();
    has_groups.then(|| template(Text::default(), prefix).quoted())
}

/// Filters of a route and of its only backend; those of one of several are reported.
pub(super) fn filters(route: &HttpRoute) -> impl Iterator<Item = &Filter> {
    let of_backend = route.destination().map(Destination::backends);
    let of_backend = match of_backend {
        Some([only]) => only.filters.as_slice(),
        _ => &[],
    };
    route.filters.iter().chain(of_backend)
}

/// nginx sends no header whose value is empty.
fn request_header(change: &HeaderChange) -> (String, Text) {
    let name = change.name.as_str();
    let mut text = Text::default();
    if !change.replaces {
        text = text.variable(&appending(name));
    }
    for (n, value) in change.values.iter().enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        text = text.then(separator).append(expression(&value.value));
    }
    (name.to_owned(), text)
}

/// Variable with the client's value of a header, and a comma behind it.
fn appending(name: &str) -> String {
    format!("sluice_append_{}", snake_case(name))
}

fn snake_case(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Request headers that a filter adds to, as nginx's variables name them.
pub(crate) fn appended(route: &HttpRoute) -> impl Iterator<Item = String> {
    request_header_changes(filters(route))
        .into_iter()
        .filter(|change| !change.replaces)
        .map(|change| snake_case(change.name.as_str()))
}

/// Request headers to an error service, as in ingress-nginx.
pub(crate) fn for_error_service(error: &ErrorRequest) -> Vec<(String, Text)> {
    let ErrorRequest { status, headers } = error;
    let status = Text::default().then(&status.to_string());
    let format = Text::default().variable("http_accept");
    let mut lines = vec![
        ("X-Code".to_owned(), status),
        ("X-Format".to_owned(), format),
    ];
    lines.extend(headers.iter().map(|header| {
        let value = expression(&header.value);
        (header.name.as_str().to_owned(), value)
    }));
    lines
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Expression, HeaderName};

    use super::*;

    #[test]
    fn a_header_of_the_operator_is_sent_once_and_one_of_the_location_instead_of_it() {
        let name = HeaderName::parse("x-real-ip").unwrap();
        let header = Header {
            name,
            value: Expression::literal("mine"),
        };
        let global = GlobalConfig {
            request_headers: vec![header],
            ..GlobalConfig::default()
        };
        let said = |own| {
            let lines = for_upstream(&global, own).into_iter();
            let lines = lines.map(|(name, value)| format!("{} {}", name.0, value.0));
            lines
                .filter(|line| line.to_ascii_lowercase().contains("x-real-ip"))
                .collect::<Vec<_>>()
        };
        assert_eq!(said(Vec::new()), [r#""x-real-ip" "mine""#]);
        let own = ("X-Real-IP".to_owned(), Text::default().then("own"));
        assert_eq!(said(vec![own]), [r#""X-Real-IP" "own""#]);
    }

    #[test]
    fn nobody_passes_on_an_upgrade_that_was_not_looked_at() {
        let parts = [ExpressionPart::Variable(Variable::Header(
            "upgrade".to_owned(),
        ))];
        let header = Header {
            name: HeaderName::parse("UPGRADE").unwrap(),
            value: Expression(parts.into()),
        };
        let operators = GlobalConfig {
            request_headers: vec![header],
            ..GlobalConfig::default()
        };
        for global in [GlobalConfig::default(), operators] {
            let lines = for_upstream(&global, Vec::new()).into_iter();
            let upgrades: Vec<_> = lines
                .filter(|(name, _)| name.0.is("upgrade"))
                .map(|(_, value)| value.0.to_string())
                .collect();
            assert_eq!(upgrades, [r#""${sluice_upgrade}""#]);
        }
    }
}
