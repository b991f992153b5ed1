//! From http to https.

use sluice_syntax::value;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;

const REDIRECTED: &str = "plain http is redirected";

pub(super) const GROUP: Group = Group {
    title: "Redirects to https",
    annotations: &[
        annotation("ssl-redirect", Value::Bool, Risk::Low, Scope::Location)
            .narrows(REDIRECTED)
            .full(),
        annotation(
            "force-ssl-redirect",
            Value::Bool,
            Risk::Medium,
            Scope::Location,
        )
        .narrows(REDIRECTED)
        .full(),
        annotation(
            "preserve-trailing-slash",
            Value::Bool,
            Risk::Medium,
            Scope::Location,
        )
        .full(),
        annotation(
            "use-port-in-redirects",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .full(),
    ],
};

/// When plain http is answered with a redirect, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToHttps {
    /// When the host has a certificate.
    pub(crate) with_certificate: bool,
    /// Whether it has one or not: TLS ends somewhere before.
    pub(crate) always: bool,
    pub(crate) keep_slash: bool,
    pub(crate) name_port: bool,
}

pub(super) fn to_https(view: &mut View<'_, '_>, globals: &Globals) -> ToHttps {
    let default = globals.to_https;
    let with_certificate = view.strict("ssl-redirect", value::bool, default.with_certificate, true);
    let always = view.strict("force-ssl-redirect", value::bool, default.always, true);
    let mut read = |name, default| view.read(name, value::bool).unwrap_or(default);
    ToHttps {
        with_certificate,
        always,
        keep_slash: read("preserve-trailing-slash", default.keep_slash),
        name_port: read("use-port-in-redirects", default.name_port),
    }
}
