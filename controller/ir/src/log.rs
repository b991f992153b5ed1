//! Access logs of requests and of L4 connections, if the operator enables them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::is_default;

/// Access logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AccessLog {
    /// About requests.
    #[serde(skip_serializing_if = "is_default")]
    pub requests: LogTarget,
    /// About connections without HTTP.
    #[serde(skip_serializing_if = "is_default")]
    pub connections: LogTarget,
    /// Nothing about requests with one of these paths, each with its query.
    #[serde(skip_serializing_if = "is_default")]
    pub skipped: Vec<String>,
}

/// The lines of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogTarget {
    /// No log is written.
    #[serde(skip_serializing_if = "is_default")]
    pub off: bool,
    /// Written to standard error instead of standard output.
    #[serde(skip_serializing_if = "is_default")]
    pub to_stderr: bool,
    /// Texts of clients are logged unescaped.
    #[serde(skip_serializing_if = "is_default")]
    pub raw: bool,
    /// `None`: the data plane's own.
    #[serde(skip_serializing_if = "is_default")]
    pub format: Option<LogFormat>,
}

/// Format of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Its parts, one after the other.
    Text(Vec<LogPart>),
    /// An object of JSON: what clients say cannot end a value.
    Json(BTreeMap<String, LogValue>),
}

/// A value in a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogValue {
    /// A text, or a number where it is one fact that is a number.
    Line(Vec<LogPart>),
    /// An object.
    Object(BTreeMap<String, LogValue>),
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

/// Fact about a request or a connection, known at its end. A missing value is written as `-`.
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
    Milliseconds,
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
    /// A backend's id.
    Backend,
    UpstreamAddress,
    UpstreamMilliseconds,
    ConnectMilliseconds,
    HeaderMilliseconds,
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
}
