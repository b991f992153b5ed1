//! Answers that lead elsewhere.

use serde::Serialize;

use crate::{Hostname, Template};

/// An answer that leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// From 300 to 308.
    pub status: u16,
    /// Where it leads.
    pub to: RedirectTo,
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectTo {
    /// Exactly there: a URL, or a path for clients to resolve.
    Url(String),
    /// Another path of the same host; the query goes along.
    Path(String),
    /// The same, without the query.
    PathOnly(String),
    /// The same path of another host, without a slash at the end, and with the port of the listener.
    Host(Hostname),
    /// A URL with parts of the path in it; the query goes along.
    ResponseRewrite {
        /// `http` or `https`.
        scheme: &'static str,
        /// The host.
        host: String,
        /// When it is not the scheme's own.
        port: Option<u16>,
        /// What the path becomes.
        path: Template,
    },
}

/// From http to the same URI with https, without a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HttpsRedirect {
    /// From 300 to 308.
    pub status: u16,
    /// A slash at the end of the URI stays.
    pub keep_trailing_slash: bool,
    /// The port that is named.
    pub port: Option<u16>,
}
