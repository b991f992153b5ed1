//! A line of nginx's log, in the format of `traces.conf`, as a span.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use serde::Deserialize;

use crate::export::attribute;

/// Bytes of a text that a client chooses.
const LONGEST: usize = 1024;
/// W3C Trace Context: as much has to be passed on.
const LONGEST_STATE: usize = 512;
/// W3C Trace Context: the trace is kept.
const SAMPLED: u32 = 1;

#[derive(Deserialize)]
struct Line {
    trace: String,
    span: String,
    parent: String,
    state: String,
    route: String,
    /// The route's own name for its spans.
    route_operation: String,
    /// The name for all others.
    operation: String,
    end: String,
    duration: String,
    status: String,
    method: String,
    scheme: String,
    host: String,
    target: String,
    protocol: String,
    agent: String,
    peer: String,
    peer_port: String,
    port: String,
    /// The port of connections that came through a PROXY header.
    proxied_port: String,
    upstream: String,
    /// The canary's backend, if the request went to one.
    backend: String,
    main: String,
    id: String,
    received: String,
    sent: String,
}

/// Parses a line; `None`: not one of ours, such as half a line after a crash.
pub(crate) fn span(line: &[u8]) -> Option<Span> {
    // nginx passes on whatever bytes a client sends, and OTLP has texts.
    let line: Line = serde_json::from_str(&String::from_utf8_lossy(line)).ok()?;
    let end = milliseconds(&line.end)?;
    let start = end.saturating_sub(milliseconds(&line.duration)?);
    let nanoseconds = |milliseconds: u64| milliseconds.checked_mul(1_000_000);
    let parent_span_id = match line.parent.as_str() {
        "" => Vec::new(),
        parent => hex(parent, 8)?,
    };
    let status: u16 = line.status.parse().ok()?;
    Some(Span {
        trace_id: hex(&line.trace, 16)?,
        span_id: hex(&line.span, 8)?,
        parent_span_id,
        trace_state: Some(line.state.as_str())
            .filter(|state| state.len() <= LONGEST_STATE)
            .unwrap_or_default()
            .to_owned(),
        flags: SAMPLED,
        name: name(&line),
        kind: SpanKind::Server.into(),
        start_time_unix_nano: nanoseconds(start)?,
        end_time_unix_nano: nanoseconds(end)?,
        status: (status >= 500).then(|| Status {
            code: StatusCode::Error.into(),
            ..Status::default()
        }),
        attributes: attributes(line, status),
        ..Span::default()
    })
}

/// As in Envoy: the route's name where nobody names it.
fn name(line: &Line) -> String {
    let names = [&line.route_operation, &line.operation, &line.route];
    let first = names.into_iter().find(|name| !name.is_empty());
    cut(first.map_or("-", String::as_str).to_owned())
}

/// As in Envoy, which has those of ingress-nginx besides its own.
fn attributes(line: Line, status: u16) -> Vec<KeyValue> {
    let port = if line.port.is_empty() {
        line.proxied_port
    } else {
        line.port
    };
    let backend = if line.backend.is_empty() {
        line.main
    } else {
        line.backend
    };
    let upstream = last(&line.upstream);
    let url = format!("{}://{}{}", line.scheme, line.host, line.target);
    let all = [
        ("http.method", line.method),
        ("http.status_code", status.to_string()),
        ("http.url", url),
        ("http.host", line.host),
        ("http.scheme", line.scheme),
        ("http.target", line.target),
        ("http.protocol", line.protocol),
        ("http.user_agent", line.agent),
        ("net.host.port", port),
        ("net.peer.ip", line.peer),
        ("net.peer.port", line.peer_port),
        ("request_size", line.received),
        ("response_size", line.sent),
        (
            "upstream_cluster.name",
            upstream.map(|_| backend).unwrap_or_default(),
        ),
        ("upstream_address", upstream.unwrap_or_default().to_owned()),
        ("guid:x-request-id", line.id),
    ];
    all.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| attribute(key, cut(value)))
        .collect()
}

/// The last of several attempts. nginx separates them by commas, and by colons where the backend changed. A socket is nginx's own, where
/// there was no pod.
fn last(upstream: &str) -> Option<&str> {
    let last = upstream.rsplit([',', ' ']).next()?;
    (!last.is_empty() && !last.starts_with("unix:")).then_some(last)
}

/// `1700000000.123`
fn milliseconds(text: &str) -> Option<u64> {
    let (seconds, thousandths) = text.split_once('.')?;
    let thousandths: u64 = (thousandths.len() == 3)
        .then_some(thousandths)?
        .parse()
        .ok()?;
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(thousandths)
}

fn hex(text: &str, bytes: usize) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    let read: Vec<u8> = pairs
        .filter_map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect();
    (digits.len() == 2 * bytes).then_some(read)
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;

    use super::*;

    const LINE: &str = r#"{"trace":"0af7651916cd43dd8448eb211c80319c","span":"b7ad6b7169203331","parent":"","state":"a=b","route":"web.test/","route_operation":"","operation":"","end":"1700000000.123","duration":"0.020","status":"200","method":"GET","scheme":"http","host":"web.test","target":"/a?b","protocol":"HTTP/1.1","agent":"x","peer":"127.0.0.1","peer_port":"5","port":"80","proxied_port":"","upstream":"10.0.0.1:80, 10.0.0.2:80","backend":"","main":"d/web/80","id":"i","received":"10","sent":"20"}"#;

    fn value(span: &Span, key: &str) -> Option<String> {
        let found = span.attributes.iter().find(|of| of.key == key)?;
        match found.value.clone()?.value? {
            Value::StringValue(text) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn a_line_is_a_span() {
        let span = span(LINE.as_bytes()).unwrap();
        assert_eq!(span.start_time_unix_nano, 1_700_000_000_103_000_000);
        assert_eq!(span.end_time_unix_nano, 1_700_000_000_123_000_000);
        assert_eq!((span.trace_id.len(), span.span_id[0]), (16, 0xb7));
        assert_eq!((span.parent_span_id.len(), span.status.as_ref()), (0, None));
        assert_eq!(span.name, "web.test/");
        let value = |key| value(&span, key);
        assert_eq!(value("http.url").as_deref(), Some("http://web.test/a?b"));
        assert_eq!(value("upstream_address").as_deref(), Some("10.0.0.2:80"));
        assert_eq!(value("upstream_cluster.name").as_deref(), Some("d/web/80"));
    }

    #[test]
    fn the_routes_own_name_comes_before_that_of_all() {
        let named = |own: &str, all: &str| {
            let line = LINE
                .replace(
                    r#""route_operation":"""#,
                    &format!(r#""route_operation":"{own}""#),
                )
                .replace(r#""operation":"""#, &format!(r#""operation":"{all}""#));
            span(line.as_bytes()).unwrap().name
        };
        assert_eq!(named("pay", "GET /"), "pay");
        assert_eq!(named("", "GET /"), "GET /");
    }

    #[test]
    fn bytes_of_a_client_neither_hide_a_span_nor_make_it_large() {
        let mut line = LINE
            .replace("/a?b", &"é".repeat(5000))
            .replace("a=b", &"s".repeat(600));
        let bytes = line.replace("\"agent\":\"x\"", "\"agent\":\"\\u00ff\u{1}\"");
        // A control character that nginx would have escaped is no line of nginx's.
        assert_eq!(span(bytes.as_bytes()), None);
        line = line.replace("\"agent\":\"x\"", "\"agent\":\"AGENT\"");
        let mut bytes = line.into_bytes();
        let at = bytes.windows(5).position(|five| five == b"AGENT").unwrap();
        bytes[at] = 0xff;
        let span = span(&bytes).unwrap();
        assert_eq!(
            value(&span, "http.user_agent").as_deref(),
            Some("\u{fffd}GENT")
        );
        assert_eq!(value(&span, "http.target").unwrap().len(), LONGEST);
        assert_eq!(span.trace_state, "");
    }

    #[test]
    fn an_error_of_the_server_is_an_error_and_its_own_socket_no_upstream() {
        let line = LINE
            .replace(r#""status":"200""#, r#""status":"503""#)
            .replace("10.0.0.1:80, 10.0.0.2:80", "unix:/run/no-endpoint.sock");
        let span = span(line.as_bytes()).unwrap();
        assert_eq!(span.status.clone().unwrap().code, StatusCode::Error as i32);
        assert_eq!(value(&span, "upstream_address"), None);
        assert_eq!(value(&span, "upstream_cluster.name"), None);
    }

    #[test]
    fn a_line_without_an_id_is_none() {
        for id in ["", "b7ad6b716920333", "b7ad6b716920333g"] {
            assert_eq!(span(LINE.replace("b7ad6b7169203331", id).as_bytes()), None);
        }
        assert_eq!(span(&LINE.as_bytes()[..50]), None);
    }
}
