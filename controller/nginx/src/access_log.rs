//! Lines about requests and about connections without HTTP, in nginx's own words.

use std::collections::BTreeSet;

use askama::Template;
use sluice_ir::{AccessLog, LogEscaping, LogField, LogPart, LogTarget};

use crate::conf::{Text, Value, Word, word};
use crate::expression::REQUEST_ID;
use crate::settings::Settings;

/// nginx reads at most 4096 bytes as one word, and `log_format` joins its words. A `$` is written in 16 bytes.
const PART: usize = 250;

/// Status without zeros in front, as JSON has numbers.
const STATUS: &str = "sluice_status";

/// A format, and the file that its lines go to.
#[derive(Template)]
#[template(path = "http/access_log.conf")]
pub(crate) struct AccessLogConf {
    file: Word,
    escape: &'static str,
    format: Vec<Value>,
    /// It is about requests: some of them do not want it.
    of_requests: bool,
    /// Our module has the names of backends.
    is_kongs: bool,
    /// Paths without a line.
    skipped: Vec<Word>,
}

/// A piece of a line.
pub(crate) enum LogSegment {
    Text(String),
    Variable(String),
}

/// nginx's variable for a field; `None`: nginx has none.
type VariableName = fn(&LogField, &Settings) -> Option<String>;

impl AccessLogConf {
    /// About requests, where that is wanted.
    pub(crate) fn of_requests(log: &AccessLog, settings: &Settings) -> Option<Self> {
        let skipped = keys(&log.skipped);
        let conf = access_log_conf(&log.requests, of_request, settings)?;
        Some(AccessLogConf {
            of_requests: true,
            skipped,
            ..conf
        })
    }

    /// About connections, where that is wanted.
    pub(crate) fn of_connections(log: &AccessLog, settings: &Settings) -> Option<Self> {
        access_log_conf(&log.connections, of_connection, settings)
    }
}

fn access_log_conf(
    lines: &LogTarget,
    variable_name: VariableName,
    settings: &Settings,
) -> Option<AccessLogConf> {
    let files = settings.access_log.as_ref().filter(|_| !lines.off)?;
    let escape = match lines.escaping {
        LogEscaping::Default => "default",
        LogEscaping::Json => "json",
        LogEscaping::None => "none",
    };
    let file = if lines.to_stderr {
        &files.errors
    } else {
        &files.output
    };
    Some(AccessLogConf {
        file: word(file.display()),
        escape,
        format: words(line(&lines.format, variable_name, settings)),
        of_requests: false,
        is_kongs: settings.engine.is_kongs(),
        skipped: Vec::new(),
    })
}

fn line(parts: &[LogPart], variable_name: VariableName, settings: &Settings) -> Vec<LogSegment> {
    let parts = parts.iter().map(|part| match part {
        LogPart::Text(text) => LogSegment::Text(text.clone()),
        LogPart::Field(field) => variable_name(field, settings)
            .map_or_else(|| LogSegment::Text("-".to_owned()), LogSegment::Variable),
    });
    parts.collect()
}

pub(crate) fn words(segments: Vec<LogSegment>) -> Vec<Value> {
    let mut words = Vec::new();
    let mut push = |text: Text| words.push(text.quoted());
    for segment in segments {
        match segment {
            LogSegment::Variable(name) => push(Text::default().variable(&name)),
            LogSegment::Text(text) => {
                let letters: Vec<char> = text.chars().collect();
                letters
                    .chunks(PART)
                    .for_each(|part| push(Text::default().then(&part.iter().collect::<String>())));
            }
        }
    }
    words
}

/// Variables that HTTP requests and TCP sessions share.
fn of_any(field: &LogField) -> Option<&'static str> {
    Some(match field {
        LogField::ClientAddress => "remote_addr",
        LogField::PeerPort => "remote_port",
        LogField::LocalAddress => "sluice_local_addr",
        LogField::LocalPort => "sluice_local_port",
        LogField::CommonTime => "time_local",
        LogField::IsoTime => "time_iso8601",
        LogField::UnixTime => "msec",
        LogField::UpstreamAddress => "upstream_addr",
        LogField::ConnectDuration => "upstream_connect_time",
        LogField::Connection => "connection",
        LogField::Hostname => "hostname",
        _ => return None,
    })
}

fn of_request(field: &LogField, _settings: &Settings) -> Option<String> {
    let name = match field {
        LogField::PeerAddress => "sluice_peer",
        LogField::RequestLine => "request",
        LogField::Method => "request_method",
        LogField::RequestUri => "request_uri",
        LogField::Path => "uri",
        LogField::Host => "host",
        LogField::Scheme => "scheme",
        LogField::Protocol => "server_protocol",
        LogField::Status => STATUS,
        LogField::BytesSent => "body_bytes_sent",
        LogField::WireBytesSent => "bytes_sent",
        LogField::WireBytesReceived => "request_length",
        LogField::Duration => "request_time",
        LogField::Arguments => "args",
        LogField::ForwardedFor => "proxy_add_x_forwarded_for",
        LogField::Backend => "sluice_upstream_name",
        LogField::AlternativeBackend => "sluice_alternative_name",
        LogField::BackendNamespace => "sluice_namespace",
        LogField::BackendService => "sluice_service_name",
        LogField::BackendPort => "sluice_service_port",
        LogField::RequestId => REQUEST_ID,
        LogField::User => "remote_user",
        LogField::UpstreamStatus => "upstream_status",
        LogField::UpstreamBytes => "upstream_response_length",
        LogField::UpstreamDuration => "upstream_response_time",
        LogField::HeaderDuration => "upstream_header_time",
        LogField::TlsVersion => "ssl_protocol",
        LogField::TlsCipher => "ssl_cipher",
        LogField::TlsName => "ssl_server_name",
        LogField::ClientSubject => "ssl_client_s_dn",
        LogField::ClientIssuer => "ssl_client_i_dn",
        LogField::ClientSerial => "ssl_client_serial",
        LogField::RequestHeader(name) => return Some(format!("http_{}", name.replace('-', "_"))),
        LogField::ResponseHeader(name) => {
            return Some(format!("sent_http_{}", name.replace('-', "_")));
        }
        LogField::Cookie(name) => return Some(format!("cookie_{name}")),
        LogField::Argument(name) => return Some(format!("arg_{name}")),
        other => of_any(other)?,
    };
    Some(name.to_owned())
}

/// Nothing of HTTP, and nothing of TLS, which passes through.
fn of_connection(field: &LogField, settings: &Settings) -> Option<String> {
    let knows_peers = settings
        .streams
        .as_ref()
        .is_some_and(|streams| streams.believes_headers);
    let name = match field {
        LogField::PeerAddress if knows_peers => "sluice_peer",
        LogField::PeerAddress => "remote_addr",
        LogField::L4 => "protocol",
        LogField::SessionStatus => STATUS,
        LogField::BytesSent => "bytes_sent",
        LogField::BytesReceived => "bytes_received",
        LogField::Duration => "session_time",
        LogField::L4Backend => "sluice_served",
        other => of_any(other)?,
    };
    Some(name.to_owned())
}

/// nginx refuses a text that is there twice, whatever case its letters have.
fn keys(skipped: &[String]) -> Vec<Word> {
    let mut known = BTreeSet::new();
    let new = |url: &&String| known.insert(url.to_ascii_lowercase());
    skipped
        .iter()
        .filter(new)
        .map(word)
        .filter(|url| url.0.fits())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_of_words_that_nginx_reads() {
        for letter in ["$", "\"", "\u{1f980}", "a"] {
            let words = words(vec![LogSegment::Text(letter.repeat(3000))]);
            assert!(words.iter().all(|word| word.0.fits()), "{letter}");
        }
    }

    #[test]
    fn a_path_that_is_skipped_twice_is_written_once() {
        let written = keys(&["/a", "/b", "/A", "/a"].map(str::to_owned));
        let written: Vec<String> = written.iter().map(|word| word.0.to_string()).collect();
        assert_eq!(written, [r#""/a""#, r#""/b""#]);
    }
}
