//! Fields of a line, in Envoy's words: operators of its formats where they say the same as nginx's variables, otherwise CEL.
//!
//! Envoy escapes nothing in a text, so what clients, pods and certificates write goes through CEL. Headers are those that the client
//! sent, which `sluice.log` has noted: when a request is over, they are what the pod got.

use sluice_ir::{LogEscaping, LogField, LogPart, Variable};

use super::expressions::{self, Author, Reading};
use super::expressions::{has_service, is_noted, main_with_canaries, noted, sent_header};
use crate::render::cel;
use crate::render::header::literal;

/// Key of path and query.
pub(super) const URI: &str = "uri";
/// Key of the host, which other headers cannot have.
pub(super) const HOST: &str = ":authority";
const FORWARDED_FOR: &str = "x-forwarded-for";
const COOKIE: &str = "cookie";
const REQUEST_ID: &str = "x-request-id";

/// Methods that need no look at their letters.
const METHODS: &str = "['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']";
const PROTOCOL: &str = "(request.protocol == 'HTTP/2' ? 'HTTP/2.0' : request.protocol == 'HTTP/3' ? 'HTTP/3.0' : request.protocol)";
/// Without its port.
const CLIENT: &str = "(source.address.startsWith('[') ? source.address.substring(1, source.address.indexOf(']')) : source.address.split(':')[0])";

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
        LogPart::Field(LogField::RequestHeader(name)) => Some(key(name)),
        LogPart::Field(LogField::Host) => Some(HOST),
        LogPart::Field(LogField::ForwardedFor) => Some(FORWARDED_FOR),
        LogPart::Field(LogField::RequestId) => Some(REQUEST_ID),
        LogPart::Field(LogField::Cookie(_)) => Some(COOKIE),
        LogPart::Field(_) | LogPart::Text(_) => None,
    })
}

/// The key that a header is noted by.
fn key(header: &str) -> &str {
    match header {
        "host" => HOST,
        name => name,
    }
}

/// Nobody but Envoy and the operator writes what these say.
fn of_envoy(field: &LogField) -> Option<&'static str> {
    Some(match field {
        LogField::ClientAddress => "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerAddress => "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
        LogField::PeerPort => "%DOWNSTREAM_DIRECT_REMOTE_PORT%",
        LogField::LocalAddress => "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%",
        LogField::LocalPort => "%DOWNSTREAM_LOCAL_PORT%",
        LogField::CommonTime => "%EMIT_TIME(%d/%b/%Y:%H:%M:%S %z)%",
        LogField::IsoTime => "%EMIT_TIME(%Y-%m-%dT%H:%M:%S%Ez)%",
        LogField::UnixTime => "%EMIT_TIME(%s.%3f)%",
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
        // In hexadecimal digits.
        LogField::ClientSerial => "%DOWNSTREAM_PEER_SERIAL%",
        LogField::Hostname => "%HOSTNAME%",
        // Translation says that there is no such thing here.
        LogField::User | LogField::ClientIssuer => "-",
        _ => return None,
    })
}

fn operator(field: &LogField, escaping: LogEscaping) -> String {
    if let Some(operator) = of_envoy(field) {
        return operator.to_owned();
    }
    let readings = readings(field);
    if readings.is_empty() {
        return "-".to_owned();
    }
    let missing = match escaping {
        LogEscaping::Default if !may_be_empty(field) => "'-'",
        LogEscaping::Default | LogEscaping::Json | LogEscaping::None => "''",
    };
    expressions::operator(&readings, escaping, missing)
}

fn readings(field: &LogField) -> Vec<Reading> {
    let found = of_request(field).or_else(|| of_client(field));
    let found = found.or_else(|| of_response(field).map(|reading| vec![reading]));
    found.or_else(|| of_backend(field)).unwrap_or_default()
}

/// Of what the client asked for.
fn of_request(field: &LogField) -> Option<Vec<Reading>> {
    let headers = |name| sent_header(name).into_iter();
    let of_headers =
        |name, value: fn(&str) -> String| headers(name).map(|it| it.with_value(value)).collect();
    Some(match field {
        LogField::RequestLine => request_line().into(),
        LogField::RequestUri => vec![
            Reading::new(is_noted(URI), noted(URI), Author::Noted),
            Reading::attribute("request.path", Author::Other),
        ],
        LogField::Method => vec![
            Reading::new(is_usual_method(), "request.method", Author::Ours),
            Reading::attribute("request.method", Author::Other),
        ],
        LogField::Path => vec![Reading::attribute("request.url_path", Author::Other)],
        LogField::Arguments => vec![query()],
        LogField::Argument(name) if is_short(name) => {
            vec![query().matched(&cel::argument_pattern(name))]
        }
        LogField::Host => of_headers(HOST, without_port),
        LogField::Protocol => vec![Reading::new(
            "has(request.protocol)",
            PROTOCOL,
            Author::Ours,
        )],
        LogField::RequestId => headers(REQUEST_ID).collect(),
        LogField::RequestHeader(name) => headers(key(name)).collect(),
        LogField::Cookie(name) if is_short(name) => headers(COOKIE)
            .map(|it| it.matched(&cel::cookie_pattern(name)))
            .collect(),
        LogField::ForwardedFor => {
            let before = |sent: &str| format!("({sent} + ', ' + {CLIENT})");
            let alone = Reading::new("true", CLIENT, Author::Ours);
            headers(FORWARDED_FOR)
                .map(|it| it.with_value(before))
                .chain([alone])
                .collect()
        }
        _ => return None,
    })
}

/// A path that was too long to be noted is the one that the pod got: better that than none.
fn request_line() -> [Reading; 2] {
    let line = |uri: &str| format!("(request.method + ' ' + {uri} + ' ' + {PROTOCOL})");
    let (is_noted, noted) = (is_noted(URI), noted(URI));
    let any = format!("({is_noted} ? {noted} : request.path)");
    [
        Reading::new(
            format!("{is_noted} && {}", is_usual_method()),
            line(&noted),
            Author::Noted,
        ),
        Reading::new(
            "has(request.path) && has(request.method)",
            line(&any),
            Author::Other,
        ),
    ]
}

fn is_usual_method() -> String {
    format!("has(request.method) && request.method in {METHODS}")
}

fn query() -> Reading {
    Reading::text_attribute("request.query", Author::Other)
}

/// Translation says that no other is there. Envoy refuses a listener with a larger pattern.
fn is_short(name: &str) -> bool {
    name.len() <= Variable::LONGEST_NAME
}

/// Of the connection.
fn of_client(field: &LogField) -> Option<Vec<Reading>> {
    let text = |name: &str| Reading::text_attribute(name, Author::Other);
    Some(vec![match field {
        // That of the connection, as in nginx: clients of HTTP/2 may say any other.
        LogField::Scheme => Reading::new(
            "true",
            "(has(connection.tls_version) ? 'https' : 'http')",
            Author::Ours,
        ),
        LogField::TlsName => text("connection.requested_server_name"),
        LogField::ClientSubject => text("connection.subject_peer_certificate"),
        _ => return None,
    }])
}

fn of_response(field: &LogField) -> Option<Reading> {
    let upstream = |value: &str| Reading::new("has(upstream.address)", value, Author::Ours);
    Some(match field {
        LogField::ResponseHeader(name) => {
            let name = cel::string_literal(name);
            Reading::new(
                format!("{name} in response.headers"),
                format!("response.headers[{name}]"),
                Author::Other,
            )
        }
        LogField::UpstreamAddress => upstream("upstream.address"),
        LogField::UpstreamStatus => upstream("string(response.code)"),
        LogField::UpstreamBytes => upstream("string(response.size)"),
        LogField::SessionStatus => Reading::new(
            "true",
            "(has(upstream.address) ? '200' : '502')",
            Author::Ours,
        ),
        LogField::Duration => Reading::new("true", in_seconds("request.duration"), Author::Ours),
        LogField::UpstreamDuration => Reading::new(
            "has(response.backend_latency)",
            in_seconds("response.backend_latency"),
            Author::Ours,
        ),
        _ => return None,
    })
}

/// Ids of backends are made of names that translation has looked at.
fn of_backend(field: &LogField) -> Option<Vec<Reading>> {
    let asked = "xds.cluster_name";
    let any = || Reading::attribute(asked, Author::Ours);
    let name = |id: &str| expressions::service_port(id, '-');
    let of_main = |value: &dyn Fn(&str) -> String| {
        let readings = [main_with_canaries(), any()].map(|main| Reading {
            condition: format!("{} && {}", main.condition, has_service(&main.value)),
            value: value(&main.value),
            ..main
        });
        Vec::from(readings)
    };
    Some(match field {
        LogField::Backend => of_main(&name),
        LogField::BackendNamespace => of_main(&|id| format!("{id}.split('/')[0]")),
        LogField::BackendService => of_main(&|id| format!("{id}.split('/')[1]")),
        LogField::BackendPort => of_main(&|id| format!("{id}.split('/')[2]")),
        // The main backend is itself with every transport.
        LogField::AlternativeBackend => {
            let main = main_with_canaries();
            let service = |id: &str| expressions::service_port(id, ' ');
            let differs = format!("{} != {}", service(asked), service(&main.value));
            vec![Reading {
                condition: format!("{} && {differs}", main.condition),
                value: name(asked),
                ..main
            }]
        }
        LogField::L4Backend => {
            let plain = expressions::service_port(asked, ' ');
            vec![any().with_value(|_| format!("{plain}.replace(' ', '/')"))]
        }
        _ => return None,
    })
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
mod tests;
