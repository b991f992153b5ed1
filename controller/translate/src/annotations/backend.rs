//! Protocol of the upstream.

use sluice_ir::Protocol;
use sluice_syntax::settings::upstream::is_http10;
use sluice_syntax::value::Parsed;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::Support;

const NO_FCGI: &str = "put an HTTP server in front of the FastCGI application";

pub(super) const GROUP: Group = Group {
    title: "Upstream protocols",
    annotations: &[
        annotation(
            "backend-protocol",
            Value::OneOf(&["HTTP", "HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"]),
            Risk::Low,
            Scope::Location,
        )
        .partly("FCGI is reported: put an HTTP server in front of the FastCGI application"),
        annotation(
            "proxy-http-version",
            Value::OneOf(&["1.0", "1.1"]),
            Risk::Low,
            Scope::Location,
        )
        .instead("upstreams are reached over HTTP/1.1")
        .nginx(Support::Full)
        .harmless(&["1.1"]),
        annotation("fastcgi-index", Value::Text, Risk::Medium, Scope::Location).instead(NO_FCGI),
        annotation(
            "fastcgi-params-configmap",
            Value::ConfigMap,
            Risk::Medium,
            Scope::Location,
        )
        .instead(NO_FCGI),
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

pub(super) fn spoken(view: &mut View<'_, '_>) -> Spoken {
    view.read("backend-protocol", protocol).unwrap_or_default()
}

fn protocol(text: &str) -> Parsed<Spoken> {
    let spoken = |protocol, tls| Ok(Spoken { protocol, tls });
    match text.to_ascii_uppercase().as_str() {
        "HTTP" => spoken(Protocol::Http1, Tls::Never),
        "HTTPS" => spoken(Protocol::Http1, Tls::Always),
        "AUTO_HTTP" => spoken(Protocol::Http1, Tls::LikeClients),
        "GRPC" => spoken(Protocol::Http2, Tls::Never),
        "GRPCS" => spoken(Protocol::Http2, Tls::Always),
        _ => Err("HTTP, HTTPS, AUTO_HTTP, GRPC or GRPCS".into()),
    }
}
