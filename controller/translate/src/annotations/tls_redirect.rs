//! From http to https.

use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::{Globals, HttpsRedirects};
use crate::risk::Risk;

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

pub(super) fn https_redirects(view: &mut View<'_, '_>, globals: &Globals) -> HttpsRedirects {
    let default = globals.redirects.https;
    let with_certificate = view.strict("ssl-redirect", value::bool, default.with_certificate, true);
    let always = view.strict("force-ssl-redirect", value::bool, default.always, true);
    let mut read = |name, default| view.read(name, value::bool).unwrap_or(default);
    HttpsRedirects {
        with_certificate,
        always,
        keep_trailing_slash: read("preserve-trailing-slash", default.keep_trailing_slash),
        port_in_url: read("use-port-in-redirects", default.port_in_url),
    }
}
