//! Protocol of the upstream.

use std::collections::BTreeMap;

use sluice_ir::{Expression, FastCgi, Protocol, ReasonCode};
use sluice_syntax::expression;
use sluice_syntax::settings::upstream::is_http10;
use sluice_syntax::value::Parsed;
use sluice_translate_engine::{Cause, ClosedFor, Severity};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::{DataPlane, Support, Supports};

const NAME: &str = "backend-protocol";
/// Of an index.
const MAX_INDEX_BYTES: usize = 255;
/// Of all names and values: each location has them.
pub(crate) const MAX_PARAMS_BYTES: usize = 4 << 10;

const NO_FCGI: &str = "--data-plane nginx serves FastCGI";
const ENVOY_HAS_NO_FCGI: &str =
    "Envoy does not speak FastCGI to upstreams (--data-plane nginx does)";
const FCGI_CLOSES: &str = "FCGI answers 503: --data-plane nginx serves FastCGI";
/// Of a protocol that Envoy does not speak.
const PROTOCOLS: Supports = Supports {
    envoy: Support::Partly(FCGI_CLOSES),
    nginx: Support::Full,
};

pub(super) const GROUP: Group = Group {
    title: "Upstream protocols",
    annotations: &[
        annotation(
            "backend-protocol",
            Value::OneOf(&["HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"]),
            Risk::Low,
            Scope::Location,
        )
        .partly(FCGI_CLOSES)
        .nginx(Support::Full),
        annotation(
            "proxy-http-version",
            Value::OneOf(&["1.0", "1.1"]),
            Risk::Low,
            Scope::Location,
        )
        .instead("upstreams are reached over HTTP/1.1")
        .nginx(Support::Full)
        .harmless(&["1.1"]),
        annotation("fastcgi-index", Value::Text, Risk::Medium, Scope::Location)
            .instead(NO_FCGI)
            .nginx(Support::Full),
        annotation(
            "fastcgi-params-configmap",
            Value::ConfigMap,
            Risk::Medium,
            Scope::Location,
        )
        .instead(NO_FCGI)
        .nginx(Support::Partly(
            "nginx variables that Sluice supports, and $fastcgi_script_name; names of request headers (HTTP_...) are reported",
        )),
        annotation(
            "http2-push-preload",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .needless("browsers no longer support HTTP/2 push"),
    ],
};

/// True if upstreams are spoken to with HTTP/1.0.
pub(super) fn http10(view: &mut View<'_, '_>, globals: &Globals) -> bool {
    view.read("proxy-http-version", is_http10)
        .unwrap_or(globals.upstream.http10)
}

/// Protocol to the upstream, with or without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) protocol: Protocol,
    pub(super) tls: Tls,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tls {
    #[default]
    Never,
    Always,
    /// When the client speaks it.
    LikeClients,
}

pub(super) fn spoken(view: &mut View<'_, '_>, served_by: Option<DataPlane>) -> Spoken {
    let spoken = view.read(NAME, protocol).unwrap_or_default();
    let differs = PROTOCOLS.partly(served_by);
    if differs.is_some() && spoken.protocol == Protocol::FastCgi {
        // Envoy has no endpoints of such a backend, where nginx serves it, too.
        view.denied |= served_by.is_some();
        let report = view.not_honoured(
            NAME,
            Cause::new(ReasonCode::Unsupported, ENVOY_HAS_NO_FCGI),
            "affected paths answer 503",
        );
        report.severity = Severity::Error;
        report.closed_for = Some(ClosedFor::UpstreamProtocol);
    }
    spoken
}

/// Parameters of FastCGI: nobody else hears them.
pub(super) fn fastcgi(view: &mut View<'_, '_>) -> FastCgi {
    FastCgi {
        index: view.read("fastcgi-index", index),
        params: params(view),
    }
}

fn params(view: &mut View<'_, '_>) -> BTreeMap<String, Expression> {
    const NAME: &str = "fastcgi-params-configmap";
    let Some(text) = view.text(NAME) else {
        return BTreeMap::new();
    };
    let data = match view.references.config_map(&view.namespace, text) {
        Ok(data) => data,
        Err(error) => {
            view.not_honoured(NAME, error, "parameters not set");
            return BTreeMap::new();
        }
    };
    let bytes: usize = data
        .iter()
        .map(|(name, text)| name.len() + text.len())
        .sum();
    if bytes > MAX_PARAMS_BYTES {
        let reason =
            format!("expected at most {MAX_PARAMS_BYTES} bytes of names and values, got {bytes}");
        view.not_honoured(NAME, reason, "parameters not set");
        return BTreeMap::new();
    }
    let mut params = BTreeMap::new();
    for (name, text) in data {
        match param_name(name).and_then(|name| Ok((name, expression::for_fastcgi(text)?))) {
            Ok((name, value)) => drop(params.insert(name, value)),
            Err(expected) => view.reject_part(NAME, &expected, &format!("{name}: {text}")),
        }
    }
    params
}

/// Request headers are what clients, the operator and access control say they are. `HTTP_PROXY` would also name a proxy for the
/// application's own requests (CVE-2016-5385).
fn param_name(name: &str) -> Parsed<String> {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let valid = !name.is_empty() && name.bytes().all(allowed);
    if valid && !name.starts_with("HTTP_") {
        Ok(name.to_owned())
    } else {
        Err("names of A-Z, 0-9 and _ that do not begin with HTTP_".into())
    }
}

fn index(text: &str) -> Parsed<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let valid = (1..=MAX_INDEX_BYTES).contains(&text.len()) && text.bytes().all(allowed);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("a file name of letters, digits, dots, hyphens and underscores".into())
    }
}

fn protocol(text: &str) -> Parsed<Spoken> {
    let spoken = |protocol, tls| Ok(Spoken { protocol, tls });
    match text.to_ascii_uppercase().as_str() {
        "HTTP" => spoken(Protocol::Http1, Tls::Never),
        "HTTPS" => spoken(Protocol::Http1, Tls::Always),
        "AUTO_HTTP" => spoken(Protocol::Http1, Tls::LikeClients),
        "GRPC" => spoken(Protocol::Http2, Tls::Never),
        "GRPCS" => spoken(Protocol::Http2, Tls::Always),
        "FCGI" => spoken(Protocol::FastCgi, Tls::Never),
        _ => Err("HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI".into()),
    }
}
