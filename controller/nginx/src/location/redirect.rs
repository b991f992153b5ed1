//! Answers that lead elsewhere.

use sluice_ir::{
    Action, CaptureSubject, CapturedRedirect, Expression, Forwarded, HttpRoute, HttpsRedirect,
    PathMatch, PathRewrite, Redirect, RedirectTo, Template,
};

use crate::conf::{Text, Value, Word, word};
use crate::expression::{HOST, HOSTNAME, SCHEME, UNSLASHED, URL_PORT, expression, template};
use crate::location::matching;

/// A status and where it leads.
pub(crate) struct RedirectConf {
    pub(crate) status: u16,
    pub(crate) to: Value,
    /// nginx takes the second word of `return` for a place with these only.
    pub(crate) by_return: bool,
    /// The request line's path and query, whose groups are in it; nothing else is redirected.
    pub(crate) target: Option<Word>,
    /// Pattern of the path, whose groups are in it. nginx has it decoded, and only `rewrite` encodes what a header cannot have.
    pub(crate) pattern: Option<Word>,
    /// Largest body of its location, as that of pods.
    pub(crate) body: Option<u64>,
}

impl RedirectConf {
    fn new(status: u16, to: Text) -> Self {
        RedirectConf {
            status,
            to: to.quoted(),
            by_return: matches!(status, 301..=303 | 307 | 308),
            target: None,
            pattern: None,
            body: None,
        }
    }

    /// True if its `Location` is a line like those of other headers.
    pub(crate) fn adds_location(&self) -> bool {
        self.pattern.is_none() && !self.by_return
    }

    /// `rewrite`'s word for the status.
    pub(crate) fn flag(&self) -> &'static str {
        flag(self.status)
    }

    /// The value of [`HERE`].
    pub(crate) fn here(&self) -> Value {
        here().quoted()
    }
}

/// `rewrite`'s word for a status.
pub(crate) fn flag(status: u16) -> &'static str {
    if status == 301 {
        "permanent"
    } else {
        "redirect"
    }
}

/// A redirect with groups of the pattern that a path has matched; `None`: it has none, or nginx has no word for its status.
fn rewriting(redirect: &Redirect, path: &PathMatch) -> Option<RedirectConf> {
    let is_template = matches!(
        redirect.to,
        RedirectTo::Template { .. }
            | RedirectTo::Parts {
                path: Some(PathRewrite::Template(_)),
                ..
            }
    );
    let PathMatch::Regex(regex) = path else {
        return None;
    };
    is_template.then(|| RedirectConf {
        status: redirect.status,
        to: rewritten(&redirect.to),
        by_return: false,
        target: None,
        pattern: Some(word(matching::pattern(regex))),
        body: None,
    })
}

/// True if nginx has no word for the status of a redirect with groups.
pub(crate) fn has_no_word(route: &HttpRoute) -> bool {
    match &route.action {
        Action::Redirect(redirect) => {
            rewriting(redirect, &route.matches.path).is_some()
                && !matches!(redirect.status, 301 | 302)
        }
        _ => false,
    }
}

/// Response of a location. Groups are those of the location's own pattern.
pub(crate) fn answer(redirect: &Redirect, path: &PathMatch) -> RedirectConf {
    if let Some(rewriting) = rewriting(redirect, path) {
        return rewriting;
    }
    let to = match &redirect.to {
        RedirectTo::Parts { .. } | RedirectTo::Template { .. } => return parts(redirect, path),
        RedirectTo::Url(url) => expression(url),
        RedirectTo::Path(path) => here().then(path).variable("is_args").variable("args"),
        RedirectTo::RelativePath(path) => Text::default()
            .then(path)
            .variable("is_args")
            .variable("args"),
        RedirectTo::PathOnly(path) => here().then(path),
        RedirectTo::Host(host) => {
            let text = Text::default()
                .variable(SCHEME)
                .then("://")
                .then(host.as_str());
            text.then(":").variable(URL_PORT).variable(UNSLASHED)
        }
    };
    RedirectConf::new(redirect.status, to)
}

/// The same URL with other parts. A prefix is replaced in the path as it was sent, so that what follows stays as it is.
fn parts(redirect: &Redirect, matched: &PathMatch) -> RedirectConf {
    let RedirectTo::Parts {
        scheme,
        host,
        port,
        path,
    } = &redirect.to
    else {
        return RedirectConf::new(redirect.status, here());
    };
    let text = match scheme {
        Some(scheme) => Text::default().then(scheme.as_str()),
        None => Text::default().variable(SCHEME),
    };
    let text = text.then("://");
    let text = match (host, port) {
        (Some(host), _) => text.then(host.as_str()),
        (None, Some(_)) => text.variable("host"),
        (None, None) => text.variable(HOST),
    };
    let text = with_port(text, *port);
    let query = |text: Text| text.variable("is_args").variable("args");
    let (target, text) = match (path, matched) {
        (None, _) => (None, text.variable("request_uri")),
        (Some(PathRewrite::Full { full }), _) => (None, query(text.then(full))),
        (Some(PathRewrite::Prefix { prefix }), PathMatch::Prefix(old)) => {
            let old = sluice_pattern::escape(old.trim_end_matches('/'));
            let (pattern, text) = match prefix.as_str() {
                "/" => (format!("^{old}(?:/([^?]*))?(\\?.*)?$"), text.then("/")),
                prefix => (format!("^{old}(/[^?]*)?(\\?.*)?$"), text.then(prefix)),
            };
            (Some(word(pattern)), text.group(1).group(2))
        }
        (Some(PathRewrite::Prefix { .. } | PathRewrite::Template(_)), _) => {
            (None, text.variable("request_uri"))
        }
    };
    RedirectConf {
        target,
        ..RedirectConf::new(redirect.status, text)
    }
}

/// Variable with the scheme and the host of a request. Maps make them, and comparing a pattern takes the groups of another one
/// away, so it is set before there are any.
const HERE: &str = "sluice_here";

/// The value of [`HERE`].
pub(crate) fn here_value() -> Value {
    here().quoted()
}

/// A URL of another host with groups in its path.
fn elsewhere(scheme: &str, host: &str, port: Option<u16>, path: &Template) -> Text {
    let text = Text::default().then(scheme).then("://").then(host);
    template(with_port(text, port), path)
}

/// Target of `rewrite`, which has the groups of its own pattern, and appends the query.
pub(crate) fn rewritten(to: &RedirectTo) -> Value {
    match to {
        RedirectTo::Template {
            scheme,
            host,
            port,
            path,
        } => elsewhere(scheme, host, *port, path),
        RedirectTo::Parts {
            path: Some(PathRewrite::Template(path)),
            ..
        } => template(Text::default().variable(HERE), path),
        _ => Text::default().variable(HERE),
    }
    .quoted()
}

/// Variable with the scheme of a request, for the same reason.
const SCHEME_HERE: &str = "sluice_scheme_here";

/// The value of [`SCHEME_HERE`].
pub(crate) fn scheme_value() -> Value {
    Text::default().variable(SCHEME).quoted()
}

/// Target with the groups of a condition.
pub(crate) fn captured(redirect: &CapturedRedirect) -> Value {
    let text = match &redirect.to {
        RedirectTo::Template {
            scheme,
            host,
            port,
            path,
        } => elsewhere(scheme, host, *port, path),
        RedirectTo::Parts {
            scheme,
            host,
            port,
            path: Some(PathRewrite::Template(path)),
        } => {
            let text = match scheme {
                Some(scheme) => Text::default().then(scheme.as_str()),
                None => Text::default().variable(SCHEME_HERE),
            };
            let text = match host {
                Some(host) => text.then("://").then(host.as_str()),
                None => text.then("://").variable("host"),
            };
            template(with_port(text, *port), path)
        }
        _ => Text::default().variable(SCHEME_HERE),
    };
    // So ends a target of `rewrite` that the query does not follow.
    let is_rewritten = redirect.of == CaptureSubject::Path;
    match is_rewritten && !redirect.keeps_query {
        true => text.then("?"),
        false => text,
    }
    .quoted()
}

fn with_port(text: Text, port: Option<u16>) -> Text {
    match port {
        Some(port) => text.then(&format!(":{port}")),
        None => text,
    }
}

/// Redirect of plain http to https, without a port: to the name that was asked for, of which a server may have several.
pub(crate) fn to_https(redirect: &HttpsRedirect, forwarded: &Forwarded) -> RedirectConf {
    let host = match forwarded.trust_forwarded {
        true => HOSTNAME,
        false => "host",
    };
    let text = Text::default().then("https://").variable(host);
    let text = with_port(text, redirect.port);
    let text = text.variable(if redirect.keep_trailing_slash {
        "request_uri"
    } else {
        UNSLASHED
    });
    RedirectConf::new(redirect.status, text)
}

/// Redirect target for exactly `/` (`app-root`).
pub(crate) fn app_root(path: &Expression) -> Value {
    here().append(expression(path)).quoted()
}

fn here() -> Text {
    Text::default().variable(SCHEME).then("://").variable(HOST)
}
