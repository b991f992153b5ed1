//! Lines about requests and about connections without HTTP, in nginx's own words: as the operator wants them, or of JSON
//! under the names of nginx's variables.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use sluice_filter_config::host_contract;
use sluice_ir::{AccessLog, LogField, LogFormat, LogPart, LogTarget, LogValue};

use crate::conf::{Text, Value, Word, word};
use crate::expression::REQUEST_ID;
use crate::settings::Settings;

/// nginx reads at most 4096 bytes as one word, and `log_format` joins its words. A `$` is written in 16 bytes.
const PART: usize = 250;

/// Of a request: name and variable.
const OF_REQUEST: &[(&str, &str)] = &[
    ("time_iso8601", "time_iso8601"),
    ("remote_addr", "remote_addr"),
    ("scheme", "scheme"),
    ("host", "host"),
    ("request_method", "request_method"),
    ("request_uri", "request_uri"),
    ("server_protocol", "server_protocol"),
    ("status", STATUS),
    ("request_length", "request_length"),
    ("body_bytes_sent", "body_bytes_sent"),
    ("request_time", "request_time"),
    ("http_referer", "http_referer"),
    ("http_user_agent", "http_user_agent"),
    ("req_id", REQUEST_ID),
    ("route", host_contract::ROUTE.name),
    ("upstream_addr", "upstream_addr"),
    ("upstream_status", "upstream_status"),
    ("upstream_response_time", "upstream_response_time"),
];

/// Of a connection without HTTP.
const OF_CONNECTION: &[(&str, &str)] = &[
    ("time_iso8601", "time_iso8601"),
    ("remote_addr", "remote_addr"),
    ("protocol", "protocol"),
    ("server_port", "server_port"),
    ("status", STATUS),
    ("bytes_received", "bytes_received"),
    ("bytes_sent", "bytes_sent"),
    ("session_time", "session_time"),
    ("upstream_addr", "upstream_addr"),
];

/// `$status` without zeros in front, as JSON has numbers.
const STATUS: &str = "sluice_status";
/// The backend that was chosen.
const BACKEND: &str = "sluice_served";

/// Variables that are always a number.
const NUMBERS: [&str; 9] = [
    STATUS,
    "request_length",
    "body_bytes_sent",
    "bytes_sent",
    "bytes_received",
    "request_time",
    "session_time",
    "msec",
    "connection",
];

/// A format, and the file that its lines go to.
#[derive(Template)]
#[template(path = "http/access_log.conf")]
pub(crate) struct Written {
    file: Word,
    escape: &'static str,
    format: Vec<Value>,
    /// It is about requests: some of them do not want it.
    of_requests: bool,
    /// Paths without a line.
    skipped: Vec<Word>,
}

/// A piece of a line.
enum Bit {
    Text(String),
    Variable(String),
}

/// Names variables.
type Names = fn(&LogField, &Settings) -> Option<String>;

impl Written {
    /// About requests, where that is wanted.
    pub(crate) fn of_requests(log: &AccessLog, settings: &Settings) -> Option<Self> {
        let skipped = keys(&log.skipped);
        let written = written(&log.requests, OF_REQUEST, of_request, settings)?;
        Some(Written {
            of_requests: true,
            skipped,
            ..written
        })
    }

    /// About connections, where that is wanted.
    pub(crate) fn of_connections(log: &AccessLog, settings: &Settings) -> Option<Self> {
        written(&log.connections, OF_CONNECTION, of_connection, settings)
    }
}

fn written(
    lines: &LogTarget,
    usual: &[(&str, &str)],
    names: Names,
    settings: &Settings,
) -> Option<Written> {
    let files = settings.access_log.as_ref().filter(|_| !lines.off)?;
    let mut bits = Vec::new();
    let escape = match &lines.format {
        None => {
            let fields = usual
                .iter()
                .map(|(name, variable)| (*name, vec![Bit::Variable((*variable).to_owned())]));
            object(fields.map(|(name, line)| (name, value(line))), &mut bits);
            "json"
        }
        Some(LogFormat::Json(fields)) => {
            nested(fields, names, settings, &mut bits);
            "json"
        }
        Some(LogFormat::Text(parts)) => {
            bits = line(parts, names, settings);
            if lines.raw { "none" } else { "default" }
        }
    };
    let file = if lines.to_stderr {
        &files.errors
    } else {
        &files.output
    };
    let (of_requests, skipped) = (false, Vec::new());
    Some(Written {
        file: word(file.display()),
        escape,
        format: words(bits),
        of_requests,
        skipped,
    })
}

fn nested(
    fields: &BTreeMap<String, LogValue>,
    names: Names,
    settings: &Settings,
    bits: &mut Vec<Bit>,
) {
    let fields = fields.iter().map(|(name, field)| {
        let shown = match field {
            LogValue::Line(parts) => value(line(parts, names, settings)),
            LogValue::Object(fields) => {
                let mut inner = Vec::new();
                nested(fields, names, settings, &mut inner);
                inner
            }
        };
        (name.as_str(), shown)
    });
    object(fields, bits);
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, Vec<Bit>)>, bits: &mut Vec<Bit>) {
    bits.push(Bit::Text("{".to_owned()));
    for (place, (name, shown)) in fields.enumerate() {
        let comma = if place == 0 { "" } else { "," };
        bits.push(Bit::Text(format!("{comma}\"{}\":", escaped(name))));
        bits.extend(shown);
    }
    bits.push(Bit::Text("}".to_owned()));
}

/// One variable that is a number is one; everything else is a text.
fn value(line: Vec<Bit>) -> Vec<Bit> {
    let is_number =
        matches!(line.as_slice(), [Bit::Variable(name)] if NUMBERS.contains(&name.as_str()));
    if is_number {
        return line;
    }
    let quote = || std::iter::once(Bit::Text("\"".to_owned()));
    let inner = line.into_iter().map(|bit| match bit {
        Bit::Text(text) => Bit::Text(escaped(&text)),
        // nginx escapes what is in them.
        Bit::Variable(name) => Bit::Variable(name),
    });
    quote().chain(inner).chain(quote()).collect()
}

/// A text within quotes of JSON.
fn escaped(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.to_string(),
    });
    letters.collect()
}

fn line(parts: &[LogPart], names: Names, settings: &Settings) -> Vec<Bit> {
    let parts = parts.iter().map(|part| match part {
        LogPart::Text(text) => Bit::Text(text.clone()),
        LogPart::Field(fact) => {
            names(fact, settings).map_or_else(|| Bit::Text("-".to_owned()), Bit::Variable)
        }
    });
    parts.collect()
}

fn words(bits: Vec<Bit>) -> Vec<Value> {
    let mut words = Vec::new();
    let mut push = |text: Text| words.push(text.quoted());
    for bit in bits {
        match bit {
            Bit::Variable(name) => push(Text::default().variable(&name)),
            Bit::Text(text) => {
                let letters: Vec<char> = text.chars().collect();
                letters
                    .chunks(PART)
                    .for_each(|part| push(Text::default().then(&part.iter().collect::<String>())));
            }
        }
    }
    words
}

/// Settings of both.
fn of_any(fact: &LogField) -> Option<&'static str> {
    Some(match fact {
        LogField::ClientAddress => "remote_addr",
        LogField::PeerPort => "remote_port",
        LogField::LocalAddress => "server_addr",
        LogField::LocalPort => "server_port",
        LogField::CommonTime => "time_local",
        LogField::IsoTime => "time_iso8601",
        LogField::UnixTime => "msec",
        LogField::UpstreamAddress => "upstream_addr",
        LogField::ConnectMilliseconds => "upstream_connect_time",
        LogField::Connection => "connection",
        LogField::Hostname => "hostname",
        LogField::Backend => BACKEND,
        _ => return None,
    })
}

fn of_request(fact: &LogField, _settings: &Settings) -> Option<String> {
    let name = match fact {
        LogField::PeerAddress => "realip_remote_addr",
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
        LogField::Milliseconds => "request_time",
        LogField::RequestId => REQUEST_ID,
        LogField::User => "remote_user",
        LogField::UpstreamStatus => "upstream_status",
        LogField::UpstreamBytes => "upstream_response_length",
        LogField::UpstreamMilliseconds => "upstream_response_time",
        LogField::HeaderMilliseconds => "upstream_header_time",
        LogField::TlsVersion => "ssl_protocol",
        LogField::TlsCipher => "ssl_cipher",
        LogField::TlsName => "ssl_server_name",
        LogField::ClientSubject => "ssl_client_s_dn",
        LogField::ClientIssuer => "ssl_client_i_dn",
        LogField::ClientSerial => "ssl_client_serial",
        LogField::RequestHeader(name) => return Some(format!("http_{name}")),
        LogField::ResponseHeader(name) => return Some(format!("sent_http_{name}")),
        LogField::Cookie(name) => return Some(format!("cookie_{name}")),
        LogField::Argument(name) => return Some(format!("arg_{name}")),
        other => of_any(other)?,
    };
    Some(name.to_owned())
}

/// Nothing of HTTP, and nothing of TLS, which passes through.
fn of_connection(fact: &LogField, settings: &Settings) -> Option<String> {
    let knows_peers = settings
        .streams
        .as_ref()
        .is_some_and(|streams| streams.believes_headers);
    let name = match fact {
        LogField::PeerAddress if knows_peers => "realip_remote_addr",
        LogField::PeerAddress => "remote_addr",
        LogField::L4 => "protocol",
        LogField::SessionStatus => STATUS,
        LogField::BytesSent => "bytes_sent",
        LogField::BytesReceived => "bytes_received",
        LogField::Milliseconds => "session_time",
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

    fn shown(bits: Vec<Bit>) -> String {
        words(bits).iter().map(|word| word.0.to_string()).collect()
    }

    #[test]
    fn a_text_is_never_a_variable_and_ends_no_value() {
        let bits = value(vec![
            Bit::Text("a\"$host\n".to_owned()),
            Bit::Variable("host".to_owned()),
        ]);
        let expected = r#""\"""a\\\"${sluice_dollar}host\\u000a""${host}""\"""#;
        assert_eq!(shown(bits), expected);
    }

    #[test]
    fn a_long_text_is_of_words_that_nginx_reads() {
        for letter in ["$", "\"", "\u{1f980}", "a"] {
            let words = words(vec![Bit::Text(letter.repeat(3000))]);
            assert!(words.iter().all(|word| word.0.fits()), "{letter}");
        }
    }

    #[test]
    fn a_path_that_is_skipped_twice_is_written_once() {
        let written = keys(&["/a", "/b", "/A", "/a"].map(str::to_owned));
        let written: Vec<String> = written.iter().map(|word| word.0.to_string()).collect();
        assert_eq!(written, [r#""/a""#, r#""/b""#]);
    }

    #[test]
    fn a_number_alone_has_no_quotes() {
        assert_eq!(
            shown(value(vec![Bit::Variable("request_time".to_owned())])),
            r#""${request_time}""#
        );
    }
}
