//! Answers that lead elsewhere.

use std::ops::RangeInclusive;

use sluice_ir::{Expression, ReasonCode, Redirect, RedirectTo};
use sluice_syntax::expression;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::VARIABLES_AND_PATTERNS;

pub(super) const VARIABLES_OF_URLS: &str =
    "of nginx variables $scheme, $host, $request_uri, $is_args and $args";

pub(super) const GROUP: Group = Group {
    title: "Redirects",
    annotations: &[
        annotation(
            "permanent-redirect",
            Value::Url,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_OF_URLS),
        annotation(
            "permanent-redirect-code",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "temporal-redirect",
            Value::Url,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_OF_URLS),
        annotation(
            "temporal-redirect-code",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation("from-to-www-redirect", Value::Bool, Risk::Low, Scope::Host).full(),
        annotation(
            "relative-redirects",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "proxy-redirect-from",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_AND_PATTERNS)
        .harmless(&["off", "default"]),
        annotation(
            "proxy-redirect-to",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .partly(VARIABLES_AND_PATTERNS)
        .harmless(&["off"]),
    ],
};

/// True if redirects name no host where they can do without.
pub(super) fn relative(view: &mut View<'_, '_>, globals: &Globals) -> bool {
    view.read("relative-redirects", value::bool)
        .unwrap_or(globals.redirects.relative)
}

/// The temporal one comes first.
pub(super) fn redirect(view: &mut View<'_, '_>, relative: bool) -> Option<Redirect> {
    let temporal_code = view.read("temporal-redirect-code", value::int);
    let permanent_code = view.read("permanent-redirect-code", value::int);
    let temporal = view.read("temporal-redirect", absolute_url);
    let permanent = match (&temporal, view.text("permanent-redirect")) {
        (Some(_), Some(_)) => {
            let reason = "temporal-redirect comes first";
            view.note(
                ReasonCode::NoEffect,
                "permanent-redirect",
                reason,
                "annotation ignored",
            )
            .same_as_ingress_nginx = true;
            None
        }
        _ => view.read("permanent-redirect", url),
    };
    let (url, status) = match (temporal, permanent) {
        (Some(url), _) => {
            let code = ("temporal-redirect-code", temporal_code);
            (url, status(view, code, 300..=307, 302))
        }
        (None, Some(url)) => {
            let code = ("permanent-redirect-code", permanent_code);
            (url, status(view, code, 300..=308, 301))
        }
        (None, None) => return None,
    };
    let to = match url.as_literal() {
        Some(path) if path.starts_with('/') && !relative => RedirectTo::PathOnly(path.to_owned()),
        _ => RedirectTo::Url(url),
    };
    Some(Redirect { status, to })
}

pub(super) fn from_to_www(view: &mut View<'_, '_>) -> bool {
    view.flag("from-to-www-redirect")
}

/// The status that is written, or the usual one for want of one that fits.
fn status(
    view: &mut View<'_, '_>,
    (name, code): (&'static str, Option<i64>),
    range: RangeInclusive<i64>,
    usual: u16,
) -> u16 {
    let Some(code) = code else {
        return usual;
    };
    match u16::try_from(code) {
        Ok(status) if range.contains(&code) => status,
        _ => {
            let (first, last) = (range.start(), range.end());
            let reason = format!("expected a status from {first} to {last}, got {code}");
            let consequence = format!("redirects with {usual}");
            view.note(ReasonCode::NoEffect, name, reason, &consequence)
                .same_as_ingress_nginx = true;
            usual
        }
    }
}

/// ingress-nginx takes variables with `enable-annotation-validation: "false"`, and took them always before that was there.
fn url(text: &str) -> Parsed<Expression> {
    let without_variables: String = text.chars().filter(|c| !"${}".contains(*c)).collect();
    let plain = value::url(&without_variables).map_err(|_| "a URL or a path")?;
    if plain == text {
        Ok(Expression::literal(text))
    } else {
        expression::for_redirects(text)
    }
}

fn absolute_url(text: &str) -> Parsed<Expression> {
    if text.starts_with("http") {
        url(text)
    } else {
        Err("a URL that begins with http".into())
    }
}
