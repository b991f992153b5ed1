//! Redirects.

use serde::Serialize;

use crate::{Expression, Hostname, PathRewrite, Template};

/// A redirect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// From 300 to 308.
    pub status: u16,
    /// Target.
    pub to: RedirectTo,
}

/// Target of a redirect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectTo {
    /// Exactly there: a URL, or a path for clients to resolve. Its variables are the scheme, the host and the target of the request.
    Url(Expression),
    /// Another path of the same host; the query goes along.
    Path(String),
    /// The same, for clients to resolve.
    RelativePath(String),
    /// Another path of the same host, without the query.
    PathOnly(String),
    /// The same path of another host, without a slash at the end, and with the port of the listener.
    Host(Hostname),
    /// The same URL with other parts; the query goes along.
    Parts {
        /// `None` is that of the request.
        scheme: Option<Scheme>,
        /// `None` is that of the request.
        host: Option<Hostname>,
        /// `None` is the usual one of the scheme if that is named, else that of the request.
        port: Option<u16>,
        /// `None` is that of the request.
        path: Option<PathRewrite>,
    },
    /// A URL with parts of the path in it; the query goes along.
    Template {
        /// `http` or `https`.
        scheme: &'static str,
        /// The host.
        host: String,
        /// When it is not the scheme's own.
        port: Option<u16>,
        /// Path of the target.
        path: Template,
    },
}

/// Scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants are the values")]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// `http` or `https`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
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
