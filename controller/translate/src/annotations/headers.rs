//! Headers of requests and answers.

use sluice_ir::{Expression, Header};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::redirect::TEXTS;
use super::value::{self, Parsed};
use super::view::View;
use crate::expression;
use crate::global::Globals;

pub(super) const GROUP: Group = Group {
    title: "Headers",
    annotations: &[
        annotation("upstream-vhost", Value::Text, Risk::Low, Scope::Location)
            .partly("of nginx's variables those that Sluice has"),
        annotation(
            "connection-proxy-header",
            Value::OneOf(&["close", "keep-alive"]),
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation("custom-headers", Value::ConfigMap, Risk::Medium, Scope::Location).guard().full(),
        annotation("proxy-cookie-domain", Value::Text, Risk::Medium, Scope::Location)
            .partly(TEXTS)
            .harmless(&["off"]),
        annotation("proxy-cookie-path", Value::Text, Risk::Medium, Scope::Location)
            .partly(TEXTS)
            .harmless(&["off"]),
    ],
};

/// The `Host` that pods see.
pub(super) fn host(view: &mut View<'_, '_>) -> Option<Expression> {
    view.read("upstream-vhost", |text| {
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:${}".contains(&b));
        if plain { expression::for_headers(text) } else { Err("the name of a host".into()) }
    })
}

/// The `Connection` that pods see.
pub(super) fn connection(view: &mut View<'_, '_>) -> Option<String> {
    view.read("connection-proxy-header", |text| -> Parsed<String> {
        match text {
            "close" | "keep-alive" => Ok(text.to_owned()),
            _ => Err("close or keep-alive".into()),
        }
    })
}

/// The headers of a ConfigMap, every one of which the operator must allow. A dollar is a dollar.
pub(super) fn custom(view: &mut View<'_, '_>, globals: &Globals) -> Vec<Header> {
    const NAME: &str = "custom-headers";
    let Some(text) = view.text(NAME) else { return Vec::new() };
    let data = match view.references.config_map(&view.namespace, text) {
        Ok(data) => data,
        Err(fault) => {
            view.without(NAME, fault, "headers not set");
            return Vec::new();
        }
    };
    let mut headers = Vec::new();
    for (name, text) in data {
        if !globals.allowed_headers.contains(name) {
            let reason = format!("expected headers of global-allowed-response-headers, got {name:?}");
            view.without(NAME, reason, "header not set");
        } else if value::header_name(name).is_err() || text.chars().any(char::is_control) {
            let got = format!("{name}: {text}");
            view.refuse_part(NAME, "a header on one line", &got);
        } else {
            headers.push(Header { name: name.clone(), value: Expression::literal(text) });
        }
    }
    headers
}
