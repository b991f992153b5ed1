//! Fields of a line, in Envoy's words: operators of its formats where they say the same as nginx's variables, otherwise CEL.
//!
//! Envoy escapes nothing in a text, so what clients and pods write goes through CEL. Headers are those that the client sent, which
//! `sluice.log` has noted: when a request is over, they are what the pod got.

use sluice_ir::{LogEscaping, LogField, LogPart};

use crate::render::header::literal;

/// Namespace of metadata: of a request, what the client sent; of a route, what the log says of it.
pub(in crate::render) const LOG_METADATA: &str = "sluice.log";
/// Key of a route with `enable-access-log: "false"`.
pub(in crate::render) const UNLOGGED: &str = "unlogged";
/// Key of the route's main backend, where there are canaries.
pub(in crate::render) const MAIN: &str = "backend";
/// Key of path and query.
pub(super) const URI: &str = "uri";
/// Key of the host, which other headers cannot have.
pub(super) const HOST: &str = ":authority";
const FORWARDED_FOR: &str = "x-forwarded-for";
const COOKIE: &str = "cookie";
const REQUEST_ID: &str = "x-request-id";
/// Control characters but tabs. They are noted as `?`: a terminal takes some for commands, and CEL knows no pattern to replace.
pub(super) const CONTROLS: &str = r"[\x{0}-\x{8}\x{a}-\x{1f}\x{7f}-\x{9f}]";

const PROTOCOL: &str = "(request.protocol == 'HTTP/2' ? 'HTTP/2.0' : request.protocol == 'HTTP/3' ? 'HTTP/3.0' : request.protocol)";
const ROUTE: &str = "xds.route_metadata.filter_metadata";

/// A line of text.
pub(super) fn line(parts: &[LogPart], escaping: LogEscaping) -> String {
    let parts = parts.iter().map(|part| match part {
        LogPart::Text(text) => literal(text),
        LogPart::Field(field) => operator(field, escaping),
    });
    parts.collect()
}

/// Headers of requests that a line has, to be noted.
pub(super) fn headers(parts: &[LogPart]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        LogPart::Field(LogField::RequestHeader(name)) => Some(match name.as_str() {
            "host" => HOST,
            name => name,
        }),
        LogPart::Field(LogField::Host) => Some(HOST),
        LogPart::Field(LogField::ForwardedFor) => Some(FORWARDED_FOR),
        LogPart::Field(LogField::RequestId) => Some(REQUEST_ID),
        LogPart::Field(LogField::Cookie(_)) => Some(COOKIE),
        LogPart::Field(_) | LogPart::Text(_) => None,
    })
}

fn operator(field: &LogField, escaping: LogEscaping) -> String {
    let operator = match field {
        LogField::ClientAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerAddress => "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerPort => "%DOWNSTREAM_DIRECT_REMOTE_PORT%",
        LogField::LocalAddress => "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%",
        LogField::LocalPort => "%DOWNSTREAM_LOCAL_PORT%",
        LogField::CommonTime => "%EMIT_TIME(%d/%b/%Y:%H:%M:%S %z)%",
        LogField::IsoTime => "%EMIT_TIME(%Y-%m-%dT%H:%M:%S%Ez)%",
        LogField::UnixTime => "%EMIT_TIME(%s.%3f)%",
        LogField::Method => "%REQ(:METHOD)%",
        LogField::Scheme => "%REQ(:SCHEME)%",
        LogField::Status => "%RESPONSE_CODE%",
        LogField::BytesSent => "%BYTES_SENT%",
        LogField::WireBytesSent => "%DOWNSTREAM_WIRE_BYTES_SENT%",
        LogField::WireBytesReceived => "%DOWNSTREAM_WIRE_BYTES_RECEIVED%",
        LogField::BytesReceived => "%BYTES_RECEIVED%",
        // Of connections, which only TCP has a log of.
        LogField::L4 => "TCP",
        LogField::ConnectDuration => "%COMMON_DURATION(US_CX_BEG:US_CX_END:ms)%",
        LogField::HeaderDuration => "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:ms)%",
        LogField::Connection => "%CONNECTION_ID%",
        LogField::TlsVersion => "%DOWNSTREAM_TLS_VERSION%",
        LogField::TlsCipher => "%DOWNSTREAM_TLS_CIPHER%",
        LogField::ClientSerial => "%DOWNSTREAM_PEER_SERIAL%",
        LogField::Hostname => "%HOSTNAME%",
        // Translation says that there is no such thing here.
        LogField::User => "-",
        other => return by_cel(other, escaping),
    };
    operator.to_owned()
}

/// When it is there, and its value.
type Expression = (String, String);

fn of_request(field: &LogField) -> Option<Expression> {
    Some(match field {
        LogField::RequestLine => (
            is_noted(URI),
            format!("(request.method + ' ' + {} + ' ' + {PROTOCOL})", noted(URI)),
        ),
        LogField::RequestUri => (is_noted(URI), noted(URI)),
        LogField::Path => has("request.url_path"),
        LogField::Arguments => ("request.query != ''".to_owned(), "request.query".to_owned()),
        LogField::Host => (is_noted(HOST), without_port(&noted(HOST))),
        LogField::Protocol => ("has(request.protocol)".to_owned(), PROTOCOL.to_owned()),
        LogField::RequestId => (is_noted(REQUEST_ID), noted(REQUEST_ID)),
        LogField::RequestHeader(name) if name == "host" => (is_noted(HOST), noted(HOST)),
        LogField::RequestHeader(name) => (is_noted(name), noted(name)),
        LogField::Argument(name) => (
            format!("('&' + request.query).contains('&{name}=')"),
            format!("('&' + request.query).split('&{name}=')[1].split('&')[0]"),
        ),
        LogField::Cookie(name) => {
            let all = format!("('; ' + {})", noted(COOKIE));
            (
                format!("{} && {all}.contains('; {name}=')", is_noted(COOKIE)),
                format!("{all}.split('; {name}=')[1].split(';')[0]"),
            )
        }
        LogField::TlsName => has("connection.requested_server_name"),
        LogField::ClientSubject => has("connection.subject_peer_certificate"),
        LogField::ClientIssuer => has("connection.issuer_peer_certificate"),
        LogField::ForwardedFor => {
            let (is_noted, noted) = (is_noted(FORWARDED_FOR), noted(FORWARDED_FOR));
            let before = format!("({is_noted} ? {noted} + ', ' : '')");
            let client = "(source.address.startsWith('[') ? source.address.substring(1, source.address.indexOf(']')) : source.address.split(':')[0])";
            ("true".to_owned(), format!("({before} + {client})"))
        }
        _ => return None,
    })
}

fn of_response(field: &LogField) -> Option<Expression> {
    let upstream = |value: &str| ("has(upstream.address)".to_owned(), value.to_owned());
    let backend = |value: String| ("has(xds.cluster_name)".to_owned(), value);
    Some(match field {
        LogField::ResponseHeader(name) => (
            format!("'{name}' in response.headers"),
            format!("response.headers['{name}']"),
        ),
        LogField::UpstreamAddress => upstream("upstream.address"),
        LogField::UpstreamStatus => upstream("string(response.code)"),
        LogField::UpstreamBytes => upstream("string(response.size)"),
        LogField::SessionStatus => (
            "true".to_owned(),
            "(has(upstream.address) ? '200' : '502')".to_owned(),
        ),
        LogField::Duration => ("true".to_owned(), in_seconds("request.duration")),
        LogField::UpstreamDuration => (
            "has(response.backend_latency)".to_owned(),
            in_seconds("response.backend_latency"),
        ),
        LogField::Backend => backend(format!("{}.replace('/', '-')", main())),
        LogField::AlternativeBackend => backend(format!(
            "(xds.cluster_name == {} ? '' : xds.cluster_name.replace('/', '-'))",
            main()
        )),
        LogField::BackendNamespace => backend(format!("{}.split('/')[0]", main())),
        LogField::BackendService => backend(format!("{}.split('/')[1]", main())),
        LogField::BackendPort => backend(format!("{}.split('/')[2]", main())),
        _ => return None,
    })
}

fn by_cel(field: &LogField, escaping: LogEscaping) -> String {
    let found = of_request(field).or_else(|| of_response(field));
    let Some((present, value)) = found else {
        return "-".to_owned();
    };
    let missing = match escaping {
        LogEscaping::Default if !may_be_empty(field) => "'-'",
        LogEscaping::Default | LogEscaping::Json | LogEscaping::None => "''",
    };
    let shown = if is_ours(field) {
        value
    } else {
        escaped(escaping, &value)
    };
    format!("%CEL({present} ? {shown} : {missing})%")
}

/// ingress-nginx sets these to nothing where no Service is asked.
fn may_be_empty(field: &LogField) -> bool {
    matches!(
        field,
        LogField::AlternativeBackend
            | LogField::BackendNamespace
            | LogField::BackendPort
            | LogField::BackendService
    )
}

/// No client, pod or certificate writes it.
fn is_ours(field: &LogField) -> bool {
    matches!(
        field,
        LogField::AlternativeBackend
            | LogField::Backend
            | LogField::BackendNamespace
            | LogField::BackendPort
            | LogField::BackendService
            | LogField::Duration
            | LogField::Protocol
            | LogField::SessionStatus
            | LogField::UpstreamAddress
            | LogField::UpstreamBytes
            | LogField::UpstreamDuration
            | LogField::UpstreamStatus
    )
}

/// Values in our metadata are without control characters already; a CEL expression can only find them in others.
fn escaped(escaping: LogEscaping, value: &str) -> String {
    let special = match escaping {
        LogEscaping::Default => {
            r#".replace('\\', '\\x5C').replace('"', '\\x22').replace('\t', '\\x09')"#
        }
        LogEscaping::Json => r#".replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t')"#,
        LogEscaping::None => return value.to_owned(),
    };
    if value.contains(LOG_METADATA) {
        format!("{value}{special}")
    } else {
        format!(r"({value}.matches('[\u007f-\u009f]') ? '?' : {value}{special})")
    }
}

fn has(attribute: &str) -> Expression {
    (format!("has({attribute})"), attribute.to_owned())
}

fn noted(key: &str) -> String {
    format!("metadata.filter_metadata['{LOG_METADATA}']['{key}']")
}

fn is_noted(key: &str) -> String {
    format!(
        "('{LOG_METADATA}' in metadata.filter_metadata && '{key}' in metadata.filter_metadata['{LOG_METADATA}'])"
    )
}

fn main() -> String {
    let has_main = of_route(MAIN);
    format!("({has_main} ? {ROUTE}['{LOG_METADATA}']['{MAIN}'] : xds.cluster_name)")
}

/// A request that no route took has no metadata, and is written.
pub(super) fn logged() -> String {
    format!("!({})", of_route(UNLOGGED))
}

fn of_route(key: &str) -> String {
    format!(
        "has(xds.route_metadata) && '{LOG_METADATA}' in {ROUTE} && '{key}' in {ROUTE}['{LOG_METADATA}']"
    )
}

fn without_port(host: &str) -> String {
    format!(
        "({host}.startsWith('[') ? {host}.substring(0, {host}.indexOf(']') + 1) : {host}.split(':')[0]).lowerAscii()"
    )
}

/// `0.004`
fn in_seconds(duration: &str) -> String {
    format!(
        "(string({duration}.getSeconds()) + '.' + string({duration}.getMilliseconds() + 1000).substring(1))"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_an_operator() {
        let parts = [
            LogPart::Text("100% ".to_owned()),
            LogPart::Field(LogField::Status),
        ];
        assert_eq!(line(&parts, LogEscaping::Default), "100%% %RESPONSE_CODE%");
    }
}
