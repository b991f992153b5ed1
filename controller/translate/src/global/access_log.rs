//! `log-format-*`, `*access-log*`: what is written down, in nginx's words.

mod log_variables;

use std::collections::BTreeMap;

use sluice_ir::{AccessLog, LogEscaping, LogField, LogPart, ReasonCode};
use sluice_syntax::variables::{Segment, segments};
use sluice_syntax::{Parsed, shortened, value};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::support::Support;
use log_variables::{Difference, DifferenceByDataPlane};
pub use log_variables::{LogVariable, log_variables};

const LOG_PATH: &str =
    "with --access-log; /dev/stdout (and nginx's usual path, which is the same) or /dev/stderr";
const LOG_FORMAT: &str = "with --access-log. Unsupported variables are reported and logged as -";
const WHERE_ASKED: &str = "with --access-log";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("access-log-path", "/var/log/nginx/access.log").partly(LOG_PATH),
    key("disable-access-log", "false").partly(WHERE_ASKED),
    key("disable-http-access-log", "false").partly(WHERE_ASKED),
    key("disable-stream-access-log", "false").partly(WHERE_ASKED),
    key("http-access-log-path", "").partly(LOG_PATH),
    key("log-format-escape-json", "false").partly(WHERE_ASKED),
    key("log-format-escape-none", "false").partly(WHERE_ASKED),
    key("log-format-stream", "").partly(LOG_FORMAT),
    key("log-format-upstream", "").partly(LOG_FORMAT),
    key("skip-access-log-urls", "").partly("with --access-log; paths in their own case, not patterns").nginx(Support::Partly("with --access-log; not patterns")),
    key("stream-access-log-path", "").partly(LOG_PATH),
];

/// Paths of standard output, in ingress-nginx's image and in general.
const STDOUT: [&str; 3] = [
    "/var/log/nginx/access.log",
    "/dev/stdout",
    "/proc/self/fd/1",
];
const STDERR: [&str; 3] = ["/var/log/nginx/error.log", "/dev/stderr", "/proc/self/fd/2"];

pub(super) fn take(log: &mut AccessLog, view: &mut View<'_, '_>) {
    let mut off = [false; 3];
    let [all, requests, connections] = &mut off;
    view.set(all, "disable-access-log", value::bool);
    view.set(requests, "disable-http-access-log", value::bool);
    view.set(connections, "disable-stream-access-log", value::bool);
    log.requests.off = *all || *requests;
    log.connections.off = *all || *connections;
    view.set(&mut log.requests.to_stderr, "access-log-path", is_stderr);
    log.connections.to_stderr = log.requests.to_stderr;
    view.set(
        &mut log.requests.to_stderr,
        "http-access-log-path",
        is_stderr,
    );
    view.set(
        &mut log.connections.to_stderr,
        "stream-access-log-path",
        is_stderr,
    );
    view.set(&mut log.skipped, "skip-access-log-urls", skipped);
    let (mut as_json, mut as_it_is) = (false, false);
    view.set(&mut as_json, "log-format-escape-json", value::bool);
    view.set(&mut as_it_is, "log-format-escape-none", value::bool);
    let escaping = if as_it_is {
        LogEscaping::None
    } else if as_json {
        LogEscaping::Json
    } else {
        LogEscaping::Default
    };
    log.requests.escaping = escaping;
    log.connections.escaping = escaping;
    let (request, connection): (Lookup, Lookup) = (
        log_variables::request_field,
        log_variables::connection_field,
    );
    set_format(
        &mut log.requests.format,
        view,
        "log-format-upstream",
        request,
    );
    set_format(
        &mut log.connections.format,
        view,
        "log-format-stream",
        connection,
    );
}

/// Field of a variable, and its difference from nginx's.
type Lookup = fn(&str) -> Option<(LogField, DifferenceByDataPlane)>;

fn set_format(
    format: &mut Vec<LogPart>,
    view: &mut View<'_, '_>,
    key: &'static str,
    lookup: Lookup,
) {
    if let Some(text) = view.text(key) {
        let (parts, names) = parts(text, lookup);
        *format = parts;
        report_variables(view, key, names);
    }
}

/// Reports variables that are not logged as nginx logs them.
fn report_variables(
    view: &mut View<'_, '_>,
    key: &'static str,
    names: impl IntoIterator<Item = (String, Option<DifferenceByDataPlane>)>,
) {
    let served_by = view.served_by();
    for (name, difference) in names {
        match difference.map_or(Difference::Missing, |difference| {
            difference.for_data_plane(served_by)
        }) {
            Difference::None => {}
            Difference::Missing => {
                let reason = format!("${} is not supported", shortened(&name));
                view.report(
                    ReasonCode::Unsupported,
                    Severity::Warning,
                    key,
                    reason,
                    "logged as \"-\"",
                );
            }
            Difference::Differs(difference) => {
                let reason = format!("${name} is {difference}");
                view.report(
                    ReasonCode::PartiallySupported,
                    Severity::Note,
                    key,
                    reason,
                    "logged with this difference",
                );
            }
        }
    }
}

/// Names of variables that are not there (`None`), and how others differ.
type Names = BTreeMap<String, Option<DifferenceByDataPlane>>;

/// Unknown values are `-`, as absent ones.
fn parts(text: &str, lookup: Lookup) -> (Vec<LogPart>, Names) {
    let (mut parts, mut names) = (Vec::new(), Names::new());
    for segment in segments(text) {
        let name = match segment {
            Segment::Text(plain) => {
                push(&mut parts, plain);
                continue;
            }
            Segment::Dollar => {
                push(&mut parts, "$");
                continue;
            }
            Segment::Variable { name, .. } => name,
        };
        match lookup(name) {
            Some((field, difference)) => {
                parts.push(LogPart::Field(field));
                if difference != DifferenceByDataPlane::None {
                    names.insert(name.to_owned(), Some(difference));
                }
            }
            None => {
                push(&mut parts, "-");
                names.insert(name.to_owned(), None);
            }
        }
    }
    (parts, names)
}

fn push(parts: &mut Vec<LogPart>, plain: &str) {
    match parts.last_mut() {
        _ if plain.is_empty() => {}
        Some(LogPart::Text(last)) => last.push_str(plain),
        _ => parts.push(LogPart::Text(plain.to_owned())),
    }
}

/// A data plane that cannot open a file would refuse everything at once.
fn is_stderr(text: &str) -> Parsed<bool> {
    match text {
        _ if STDOUT.contains(&text) || text.is_empty() => Ok(false),
        _ if STDERR.contains(&text) => Ok(true),
        _ => Err("/dev/stdout or /dev/stderr".into()),
    }
}

/// nginx compares them by a hash with buckets of 512 bytes, Envoy in an expression of at most 100,000 letters.
fn skipped(text: &str) -> Parsed<Vec<String>> {
    const LONGEST: usize = 480;
    const MOST: usize = 32 * 1024;
    if text.len() > MOST {
        return Err("at most 32 KiB of paths".into());
    }
    let all = value::list(text);
    let is_plain =
        |letter: u8| letter.is_ascii_graphic() && !matches!(letter, b'\'' | b'"' | b'\\');
    let is_plain =
        |url: &&str| url.starts_with('/') && url.len() <= LONGEST && url.bytes().all(is_plain);
    if all.iter().all(is_plain) {
        Ok(all.into_iter().map(str::to_owned).collect())
    } else {
        Err(
            "paths that begin with a slash, of at most 480 bytes, without quotes, and not patterns"
                .into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_named_and_written_as_a_dash() {
        let (read, names) = parts(
            "$remote_addr [${geoip_city}] $5 $status",
            log_variables::request_field,
        );
        let text = |text: &str| LogPart::Text(text.to_owned());
        let expected = [
            LogPart::Field(LogField::ClientAddress),
            text(" [-] - "),
            LogPart::Field(LogField::Status),
        ];
        assert_eq!(read, expected);
        assert_eq!(names.keys().collect::<Vec<_>>(), ["5", "geoip_city"]);
    }

    #[test]
    fn a_price_is_no_variable() {
        assert_eq!(
            parts("$ 5", log_variables::request_field).0,
            [LogPart::Text("$ 5".to_owned())]
        );
    }

    #[test]
    fn paths_to_skip_are_no_more_than_a_data_plane_compares() {
        let path = |length: usize| format!("/{}", "a".repeat(length - 1));
        assert_eq!(
            skipped("/a, /b?c=d,"),
            Ok(vec!["/a".into(), "/b?c=d".into()])
        );
        assert_eq!(skipped(&path(480)), Ok(vec![path(480)]));
        let many = "/a,".repeat(12 * 1024);
        for refused in ["a", "/a'", &path(481), &many] {
            assert!(skipped(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_log_goes_where_it_can_always_be_written() {
        assert_eq!(is_stderr("/var/log/nginx/access.log"), Ok(false));
        assert_eq!(is_stderr("/dev/stderr"), Ok(true));
        assert!(is_stderr("/data/access.log").is_err());
    }
}
