//! Access logs and tracing.

use sluice_ir::{ReasonCode, SpanPolicy};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::{DataPlane, Support};

const TRUST: &str = "opentelemetry-trust-incoming-span";
const OPERATION: &str = "opentelemetry-operation-name";
const COLLECTOR: &str = "where the ConfigMap names a collector";
const ONE_TRUST: &str = "trace context of clients is read before the path is known, so it is trusted for all hosts or for none: the ConfigMap's key of the same name decides";

pub(super) const GROUP: Group = Group {
    title: "Logs and traces",
    annotations: &[
        annotation("enable-access-log", Value::Bool, Risk::Low, Scope::Location)
            .partly("requests are logged to --access-log")
            .harmless(&["false"]),
        annotation(
            "enable-rewrite-log",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .instead("nginx would write decoded paths to it, so that clients could forge log lines; use `sluice explain`")
        .harmless(&["false"]),
        annotation(
            "enable-opentelemetry",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .partly(COLLECTOR)
        .harmless(&["false"]),
        annotation(TRUST, Value::Bool, Risk::Low, Scope::Location).partly(ONE_TRUST).nginx(Support::Full),
        annotation(OPERATION, Value::Text, Risk::Medium, Scope::Location).full(),
    ],
};

/// True if requests are not logged.
pub(super) fn unlogged(view: &mut View<'_, '_>) -> bool {
    !view.read("enable-access-log", value::bool).unwrap_or(true)
}

/// Spans of requests.
pub(super) fn traced(view: &mut View<'_, '_>, globals: &Globals) -> SpanPolicy {
    let on = view.read("enable-opentelemetry", value::bool);
    let trusts = view.read(TRUST, value::bool);
    let operation = view.read(OPERATION, operation);
    let wanted = on == Some(true);
    if !wanted {
        ignored(view, TRUST, trusts.is_some());
        ignored(view, OPERATION, operation.is_some());
    }
    let Some(tracing) = &globals.config.tracing else {
        if wanted {
            let reason = "otlp-collector-host is not set in the ConfigMap";
            view.not_honoured("enable-opentelemetry", reason, "no spans are created");
        }
        return SpanPolicy::default();
    };
    let trusts = trusts.filter(|trusts| wanted && *trusts != tracing.trust_incoming_context);
    if trusts.is_some() && globals.data_plane != Some(DataPlane::Nginx) {
        let reason = format!(
            "expected {} as in the ConfigMap, got the opposite",
            tracing.trust_incoming_context
        );
        view.not_honoured(TRUST, reason, "in Envoy the ConfigMap's value is used");
    }
    SpanPolicy {
        enabled: on.filter(|on| *on != tracing.enabled_by_default),
        trust_incoming_context: trusts,
        operation: operation.filter(|_| wanted),
    }
}

/// As in ingress-nginx, settings of spans count only beside the annotation that enables them.
fn ignored(view: &mut View<'_, '_>, name: &str, is_there: bool) {
    if is_there {
        let reason = "enable-opentelemetry is not true";
        let consequence = "annotation ignored, as by ingress-nginx";
        view.reporter.warn_unchanged(
            ReasonCode::NoEffect,
            format!("annotation {name}"),
            reason,
            consequence,
        );
    }
}

/// ingress-nginx: letters, digits, `_` and `-`.
fn operation(text: &str) -> Parsed<String> {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    if text.bytes().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("letters, digits, _ and -, without variables".into())
    }
}
