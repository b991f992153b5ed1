//! Sessions that stay with a pod.

use sluice_ir::{Affinity, AffinityMode, Cookie, SameSite};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

/// ingress-nginx's.
const COOKIE: &str = "INGRESSCOOKIE";

pub(super) const GROUP: Group = Group {
    title: "Stickiness",
    annotations: &[
        annotation(
            "affinity",
            Value::OneOf(&["cookie"]),
            Risk::Low,
            Scope::Ingress,
        )
        .partly("among Ingresses with the same Service, the oldest with affinity decides"),
        annotation(
            "affinity-mode",
            Value::OneOf(&["balanced", "persistent"]),
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "affinity-canary-behavior",
            Value::OneOf(&["sticky", "legacy"]),
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-name",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-path",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-domain",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-samesite",
            Value::OneOf(&["None", "Lax", "Strict"]),
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-conditional-samesite-none",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-secure",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-expires",
            Value::Int,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-max-age",
            Value::Int,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "session-cookie-change-on-failure",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
    ],
};

pub(super) fn affinity(view: &mut View<'_, '_>) -> Option<Affinity> {
    let sticky = view.read("affinity", |text| match text {
        "cookie" => Ok(()),
        _ => Err("cookie".into()),
    });
    let mode = view.read("affinity-mode", |text| match text {
        "balanced" => Ok(AffinityMode::Balanced),
        "persistent" => Ok(AffinityMode::Persistent),
        _ => Err("balanced or persistent".into()),
    });
    let mode = mode.unwrap_or(AffinityMode::Balanced);
    let change_on_failure = view.flag("session-cookie-change-on-failure");
    let cookie = cookie(view);
    sticky.map(|()| Affinity {
        mode,
        cookie,
        change_on_failure,
    })
}

/// True if a canary leaves the session affinity of its main backend alone.
pub(super) fn is_legacy(view: &mut View<'_, '_>) -> bool {
    let is_legacy = view.read("affinity-canary-behavior", |text| match text {
        "sticky" => Ok(false),
        "legacy" => Ok(true),
        _ => Err("sticky or legacy".into()),
    });
    is_legacy.unwrap_or_default()
}

fn cookie(view: &mut View<'_, '_>) -> Cookie {
    Cookie {
        name: view
            .read("session-cookie-name", name)
            .unwrap_or_else(|| COOKIE.to_owned()),
        path: view.read("session-cookie-path", attribute),
        domain: view.read("session-cookie-domain", attribute),
        same_site: view.read("session-cookie-samesite", same_site),
        conditional_same_site_none: view.flag("session-cookie-conditional-samesite-none"),
        secure: view.flag("session-cookie-secure"),
        expires: view.read("session-cookie-expires", value::int),
        max_age: view.read("session-cookie-max-age", value::int),
    }
}

/// RFC 6265: a token.
fn name(text: &str) -> Parsed<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.bytes().all(token) {
        Ok(text.to_owned())
    } else {
        Err("the name of a cookie".into())
    }
}

/// RFC 6265: `av-octets`.
fn attribute(text: &str) -> Parsed<String> {
    let octet = |b: u8| (0x20..0x7f).contains(&b) && b != b';';
    if text.bytes().all(octet) {
        Ok(text.to_owned())
    } else {
        Err("an attribute of a cookie".into())
    }
}

/// ingress-nginx accepts any case and then writes only these.
fn same_site(text: &str) -> Parsed<SameSite> {
    match text {
        "None" => Ok(SameSite::None),
        "Lax" => Ok(SameSite::Lax),
        "Strict" => Ok(SameSite::Strict),
        _ => Err("None, Lax or Strict".into()),
    }
}
