//! Access logs of requests and of L4 connections, if the operator enables them.

use serde::Serialize;

use crate::is_default;

/// Access logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessLog {
    /// About requests.
    pub requests: LogTarget,
    /// About connections without HTTP.
    pub connections: LogTarget,
    /// Nothing about requests with one of these paths, each with its query.
    #[serde(skip_serializing_if = "is_default")]
    pub skipped: Vec<String>,
}

/// The lines of one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogTarget {
    /// No log is written.
    #[serde(skip_serializing_if = "is_default")]
    pub off: bool,
    /// Written to standard error instead of standard output.
    #[serde(skip_serializing_if = "is_default")]
    pub to_stderr: bool,
    /// Escaping of values that clients and pods write.
    #[serde(skip_serializing_if = "is_default")]
    pub escaping: LogEscaping,
    /// A line, without its end.
    pub format: Vec<LogPart>,
}

/// Escaping of values in lines of a log, as nginx's `log_format` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEscaping {
    /// `"` is `\x22`, and a missing value `-`.
    #[default]
    Default,
    /// That of JSON's strings; a missing value is empty.
    Json,
    /// None: a client can write whatever a line may say.
    None,
}

impl Default for AccessLog {
    /// The formats of ingress-nginx.
    fn default() -> Self {
        let target = |format| LogTarget {
            off: false,
            to_stderr: false,
            escaping: LogEscaping::Default,
            format,
        };
        AccessLog {
            requests: target(usual_requests()),
            connections: target(usual_connections()),
            skipped: Vec::new(),
        }
    }
}

/// `upstreaminfo` of ingress-nginx.
fn usual_requests() -> Vec<LogPart> {
    use LogField as F;
    line(&[
        ("", F::ClientAddress),
        (" - ", F::User),
        (" [", F::CommonTime),
        ("] \"", F::RequestLine),
        ("\" ", F::Status),
        (" ", F::BytesSent),
        (" \"", F::RequestHeader("referer".to_owned())),
        ("\" \"", F::RequestHeader("user-agent".to_owned())),
        ("\" ", F::WireBytesReceived),
        (" ", F::Duration),
        (" [", F::Backend),
        ("] [", F::AlternativeBackend),
        ("] ", F::UpstreamAddress),
        (" ", F::UpstreamBytes),
        (" ", F::UpstreamDuration),
        (" ", F::UpstreamStatus),
        (" ", F::RequestId),
    ])
}

/// `log_stream` of ingress-nginx.
fn usual_connections() -> Vec<LogPart> {
    use LogField as F;
    line(&[
        ("[", F::ClientAddress),
        ("] [", F::CommonTime),
        ("] ", F::L4),
        (" ", F::SessionStatus),
        (" ", F::BytesSent),
        (" ", F::BytesReceived),
        (" ", F::Duration),
    ])
}

/// Fields, each with the text before it.
fn line(fields: &[(&str, LogField)]) -> Vec<LogPart> {
    let parts = fields.iter().flat_map(|(text, field)| {
        let text = (!text.is_empty()).then(|| LogPart::Text((*text).to_owned()));
        text.into_iter().chain([LogPart::Field(field.clone())])
    });
    parts.collect()
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogPart {
    /// Taken as it is.
    Text(String),
    /// Value of a field.
    Field(LogField),
}

/// Fact about a request or a connection, known at its end. A missing value is written as its escaping says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants are the facts")]
pub enum LogField {
    /// Address of the client, from headers where they are trusted.
    ClientAddress,
    /// Address of the connection.
    PeerAddress,
    PeerPort,
    LocalAddress,
    LocalPort,
    /// `02/Jan/2006:15:04:05 +0000`
    CommonTime,
    /// `2006-01-02T15:04:05+00:00`
    IsoTime,
    /// Since 1970, with milliseconds behind a point.
    UnixTime,
    /// `GET / HTTP/1.1`
    RequestLine,
    Method,
    /// The path and the query.
    RequestUri,
    Path,
    /// The query.
    Arguments,
    /// In lower case, without a port.
    Host,
    Scheme,
    Protocol,
    Status,
    /// Of the body.
    BytesSent,
    /// With headers.
    WireBytesSent,
    /// With headers.
    WireBytesReceived,
    /// Of a connection without HTTP.
    BytesReceived,
    /// In seconds with three digits behind the point, as all durations.
    Duration,
    RequestId,
    /// By a password.
    User,
    /// L4 protocol: TCP or UDP.
    L4,
    /// Of a connection without HTTP.
    SessionStatus,
    UpstreamStatus,
    /// Of the answers' bodies.
    UpstreamBytes,
    /// `namespace-service-port`, also where a canary was chosen.
    Backend,
    /// `namespace/service/port` of a connection without HTTP.
    L4Backend,
    /// `namespace-service-port` of the canary that was chosen; otherwise empty.
    AlternativeBackend,
    BackendNamespace,
    BackendService,
    BackendPort,
    UpstreamAddress,
    UpstreamDuration,
    ConnectDuration,
    HeaderDuration,
    Connection,
    TlsVersion,
    TlsCipher,
    TlsName,
    ClientSubject,
    ClientIssuer,
    ClientSerial,
    Hostname,
    RequestHeader(String),
    ResponseHeader(String),
    Cookie(String),
    Argument(String),
    /// `X-Forwarded-For` of the client, with its address behind.
    ForwardedFor,
}
