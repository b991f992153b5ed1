//! Request and response headers of all hosts.

use sluice_ir::{GlobalConfig, Header, HeaderName, InvalidHeaderName, ReasonCode};
use sluice_syntax::settings::upstream::host_value;
use sluice_syntax::{expression, shortened, value};
use sluice_translate_engine::{References, Severity};

use super::keys::{Key, key};
use super::view::{CLOSES, View};
use crate::support::Support;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("add-headers", "").names_config_map().partly("nginx variables that Sluice supports"),
    key("allow-backend-server-header", "false").full(),
    key("enable-underscores-in-headers", "false").full(),
    key("generate-request-id", "true").full(),
    key("hide-headers", "").full(),
    key("ignore-invalid-headers", "true").partly("lets underscores pass; other characters pass anyway").nginx(Support::Partly("lets underscores pass; other invalid characters never do")),
    key("proxy-set-headers", "").names_config_map().partly("nginx variables that Sluice supports"),
];

/// Consequence of an invalid header.
const NOT_SET: (Severity, &str) = (Severity::Warning, "header not set");

pub(super) fn take_headers(global: &mut GlobalConfig, view: &mut View<'_, '_>) {
    view.set(
        &mut global.generate_request_id,
        "generate-request-id",
        value::bool,
    );
    view.set(
        &mut global.underscores_in_headers,
        "enable-underscores-in-headers",
        value::bool,
    );
    let mut ignores_invalid = true;
    view.set(&mut ignores_invalid, "ignore-invalid-headers", value::bool);
    global.underscores_in_headers |= !ignores_invalid;
    let mut shows_server = false;
    view.set(
        &mut shows_server,
        "allow-backend-server-header",
        value::bool,
    );
    global.hidden_headers = hidden(view);
    global
        .hidden_headers
        .retain(|name| *name != HeaderName::from_static("server"));
    if !shows_server {
        global
            .hidden_headers
            .push(HeaderName::from_static("server"));
    }
    global.hidden_headers.sort();
    global.hidden_headers.dedup();
}

/// In lower case. One that cannot be hidden is reported, and the others are.
fn hidden(view: &mut View<'_, '_>) -> Vec<HeaderName> {
    const KEY: &str = "hide-headers";
    let mut hidden = Vec::new();
    for name in view.text(KEY).map(value::list).unwrap_or_default() {
        match value::own_header(name) {
            Ok(name) => hidden.push(name.to_lowercase()),
            Err(expected) => {
                let reason = format!("expected {expected}, got {:?}", shortened(name));
                view.report(
                    ReasonCode::InvalidValue,
                    Severity::Warning,
                    KEY,
                    reason,
                    "header not hidden",
                );
            }
        }
    }
    hidden
}

/// Headers of requests: what cannot be made is taken away, so that no client says it in its place. `false`: it is not known which
/// there are, or one of them cannot be taken away.
pub(super) fn request_headers(
    global: &mut GlobalConfig,
    view: &mut View<'_, '_>,
    references: References<'_>,
) -> bool {
    const KEY: &str = "proxy-set-headers";
    let Ok(data) = named(view, KEY, references, CLOSES) else {
        return false;
    };
    let mut is_known = true;
    for (name, text) in data {
        let mut say =
            |expected: &str, consequence| reject(view, KEY, expected, (name, text), consequence);
        let value = expression::for_all_requests(text);
        match value::own_header(name) {
            _ if name.eq_ignore_ascii_case("host") => match host_value(text, |_| None) {
                Ok(host) => global.host = Some(host),
                Err(expected) => say(&expected, NOT_SET),
            },
            Ok(name) => {
                if let Err(expected) = &value {
                    say(expected, (Severity::Warning, "header removed"));
                }
                global.request_headers.push(Header {
                    name,
                    value: value.unwrap_or_default(),
                });
            }
            Err(expected) if is_of_clients(name) => {
                say(&expected, CLOSES);
                is_known = false;
            }
            Err(expected) => say(&expected, NOT_SET),
        }
    }
    is_known
}

/// RFC 9110: a name that a client can say, and that is no [`HeaderName`].
fn is_of_clients(name: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty()
        && name.bytes().all(is_of_token)
        && HeaderName::parse(name) == Err(InvalidHeaderName::Syntax)
}

/// Headers of answers. One that cannot be read is reported, and the others hold.
pub(super) fn response_headers(
    global: &mut GlobalConfig,
    view: &mut View<'_, '_>,
    references: References<'_>,
) {
    const KEY: &str = "add-headers";
    let missing = (Severity::Warning, "headers not set");
    for (name, text) in named(view, KEY, references, missing).unwrap_or_default() {
        let read = value::own_header(name).and_then(|name| {
            Ok(Header {
                name,
                value: expression::for_headers(text)?,
            })
        });
        match read {
            Ok(header) => global.response_headers.push(header),
            Err(expected) => reject(view, KEY, &expected, (name, text), NOT_SET),
        }
    }
}

/// The content of the ConfigMap that a key names; an error when it names none that there is.
fn named<'a>(
    view: &mut View<'_, '_>,
    key: &'static str,
    references: References<'a>,
    (severity, consequence): (Severity, &str),
) -> Result<Vec<(&'a str, &'a str)>, ()> {
    let Some(text) = view.text(key) else {
        return Ok(Vec::new());
    };
    let namespace = view.namespace();
    // The operator may name what there is.
    match (References {
        across_namespaces: true,
        ..references
    })
    .config_map(&namespace, text)
    {
        Ok(data) => Ok(data
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect()),
        Err(cause) => {
            view.report(cause.code, severity, key, cause.reason, consequence)
                .missing = cause.missing;
            Err(())
        }
    }
}

fn reject(
    view: &mut View<'_, '_>,
    key: &str,
    expected: &str,
    (name, text): (&str, &str),
    (severity, consequence): (Severity, &str),
) {
    let got = shortened(&format!("{name}: {text}"));
    view.report(
        ReasonCode::InvalidValue,
        severity,
        key,
        format!("expected {expected}, got {got:?}"),
        consequence,
    );
}
