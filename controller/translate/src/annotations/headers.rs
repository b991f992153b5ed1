//! Headers of requests and answers.

use sluice_ir::{Expression, Header, ReasonCode};
use sluice_syntax::value::{self, Parsed};
use sluice_syntax::{MAX_HEADER_BYTES, shortened};
use sluice_translate_engine::{Cause, ClosedFor, with_namespace};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::VARIABLES_AND_PATTERNS;

pub(super) const GROUP: Group = Group {
    title: "Headers",
    annotations: &[
        annotation("upstream-vhost", Value::Text, Risk::Low, Scope::Location)
            .partly("nginx variables that Sluice supports, $namespace, $ingress_name, $service_name, $service_port, $server_name on exact hosts, and one $cookie_NAME with a text beside it"),
        annotation(
            "connection-proxy-header",
            Value::OneOf(&["close", "keep-alive"]),
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "custom-headers",
            Value::ConfigMap,
            Risk::Medium,
            Scope::Location,
        )
        .access_control()
        .full(),
        annotation(
            "proxy-cookie-domain",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_AND_PATTERNS)
        .harmless(&["off"]),
        annotation(
            "proxy-cookie-path",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_AND_PATTERNS)
        .harmless(&["off"]),
    ],
};

/// The `Connection` that pods see.
pub(super) fn connection(view: &mut View<'_, '_>) -> Option<String> {
    view.read("connection-proxy-header", |text| -> Parsed<String> {
        match text {
            "close" | "keep-alive" => Ok(text.to_owned()),
            _ => Err("close or keep-alive".into()),
        }
    })
}

/// Consequence of headers that cannot be set: ingress-nginx denies the location.
const CLOSED_AS_THERE: &str = "affected paths answer 503, as in ingress-nginx";
const CUSTOM: &str = "custom-headers";

/// The headers of a ConfigMap, every one of which the operator must allow. A dollar is a dollar.
pub(super) fn custom(view: &mut View<'_, '_>, globals: &Globals) -> Vec<Header> {
    let Some(text) = view.text(CUSTOM) else {
        return Vec::new();
    };
    let named = with_namespace(text).map_err(Cause::from);
    let data = match named.and_then(|text| view.references.config_map(&view.namespace, text)) {
        Ok(data) => data,
        Err(error) => {
            close(view, error);
            return Vec::new();
        }
    };
    let mut headers = Vec::new();
    for (name, text) in data {
        if !globals.trust.allowed_headers.contains(name) {
            let reason = format!(
                "header {:?} must be listed in global-allowed-response-headers of the ConfigMap",
                shortened(name)
            );
            let cause = Cause::new(ReasonCode::NotPermitted, reason);
            close(view, cause);
            continue;
        }
        match value::own_header(name).and_then(|name| {
            Ok(Header {
                name,
                value: one_line(text)?,
            })
        }) {
            Ok(header) => headers.push(header),
            Err(expected) => {
                let got = format!("{name}: {text}");
                let reason = format!("expected {expected}, got {:?}", shortened(&got));
                close(view, reason);
            }
        }
    }
    headers
}

fn close(view: &mut View<'_, '_>, cause: impl Into<Cause>) {
    let report = view.not_honoured(CUSTOM, cause, "");
    report.closed_for = Some(ClosedFor::ResponseHeaders);
    CLOSED_AS_THERE.clone_into(&mut report.consequence);
}

fn one_line(text: &str) -> Parsed<Expression> {
    if text.len() > MAX_HEADER_BYTES || text.chars().any(char::is_control) {
        return Err(format!("one line of at most {MAX_HEADER_BYTES} bytes").into());
    }
    Ok(Expression::literal(text))
}
