//! Answers that lead elsewhere.

use sluice_ir::{HttpsRedirect, Redirect, RedirectTo, ServerName};

use crate::conf::{Text, Value};
use crate::expression::{HOST, PORT, SCHEME, UNSLASHED, template};

/// A status and where it leads.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) to: Value,
    /// nginx takes the second word of `return` for a place with these only.
    pub(crate) by_return: bool,
}

impl Answer {
    fn new(status: u16, to: Text) -> Self {
        Answer {
            status,
            to: to.quoted(),
            by_return: matches!(status, 301..=303 | 307 | 308),
        }
    }
}

/// Response of a location. Groups are those of the location's own pattern.
pub(crate) fn answer(redirect: &Redirect) -> Answer {
    let to = match &redirect.to {
        RedirectTo::Url(url) => Text::default().then(url),
        RedirectTo::Path(path) => here().then(path).variable("is_args").variable("args"),
        RedirectTo::PathOnly(path) => here().then(path),
        RedirectTo::Host(host) => {
            let text = Text::default()
                .variable(SCHEME)
                .then("://")
                .then(host.as_str());
            text.then(":").variable(PORT).variable(UNSLASHED)
        }
        RedirectTo::ResponseRewrite {
            scheme,
            host,
            port,
            path,
        } => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let text = Text::default()
                .then(scheme)
                .then("://")
                .then(host)
                .then(&port);
            template(text, path).variable("is_args").variable("args")
        }
    };
    Answer::new(redirect.status, to)
}

/// Redirect of plain http to https.
pub(crate) fn to_https(redirect: &HttpsRedirect, server: &ServerName) -> Answer {
    let text = Text::default().then("https://");
    let text = match server {
        ServerName::Exact(name) => text.then(name.as_str()),
        // Without its port.
        ServerName::Wildcard(_) | ServerName::CatchAll => text.variable("host"),
    };
    let text = match redirect.port {
        Some(port) => text.then(&format!(":{port}")),
        None => text,
    };
    let text = text.variable(if redirect.keep_trailing_slash {
        "request_uri"
    } else {
        UNSLASHED
    });
    Answer::new(redirect.status, text)
}

/// Redirect target for exactly `/` (`app-root`).
pub(crate) fn app_root(path: &str) -> Value {
    here().then(path).quoted()
}

fn here() -> Text {
    Text::default().variable(SCHEME).then("://").variable(HOST)
}
