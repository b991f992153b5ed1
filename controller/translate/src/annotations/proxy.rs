//! Timeouts of upstreams, and retries.

use sluice_ir::{ReasonCode, Retries, Timeouts};
use sluice_syntax::settings::retries::{conditions, time_limit, tries};
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::{DataPlane, SEND_IS_LONGER, SEND_TIMEOUT, Support};

pub(super) const GROUP: Group = Group {
    title: "Timeouts and retries",
    annotations: &[
        annotation(
            "proxy-connect-timeout",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "proxy-send-timeout",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .supported(SEND_TIMEOUT),
        annotation(
            "proxy-read-timeout",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "proxy-next-upstream",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .full(),
        annotation(
            "proxy-next-upstream-timeout",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .instead("bound retries by proxy-next-upstream-tries and proxy-read-timeout")
        .nginx(Support::Full)
        .harmless(&["0"]),
        annotation(
            "proxy-next-upstream-tries",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .partly("0 (no limit) and more than 16 are 16"),
    ],
};

/// As the annotations have it, else as the ConfigMap has it.
pub(super) fn timeouts(
    view: &mut View<'_, '_>,
    globals: &Globals,
    served_by: Option<DataPlane>,
) -> Timeouts {
    let default = globals.upstream.timeouts;
    let own_send = view.read("proxy-send-timeout", value::seconds);
    let timeouts = Timeouts {
        send: own_send.unwrap_or(default.send),
        read: view
            .read("proxy-read-timeout", value::seconds)
            .unwrap_or(default.read),
    };
    let differs = SEND_TIMEOUT.partly(served_by);
    let is_longer = own_send.is_some() && timeouts.send > timeouts.read;
    if let Some(applies_to) = differs.filter(|_| is_longer) {
        view.note(
            ReasonCode::PartiallySupported,
            "proxy-send-timeout",
            applies_to.note(SEND_IS_LONGER),
            "served with this difference",
        );
    }
    timeouts
}

/// Seconds until a connection is made.
pub(super) fn connect_timeout(view: &mut View<'_, '_>, globals: &Globals) -> u32 {
    view.read("proxy-connect-timeout", value::seconds)
        .unwrap_or(globals.upstream.transport.connect_timeout)
}

pub(super) fn retries(view: &mut View<'_, '_>, globals: &Globals) -> Retries {
    let default = &globals.upstream.retries;
    Retries {
        on: view
            .read("proxy-next-upstream", conditions)
            .unwrap_or_else(|| default.on.clone()),
        attempts: view
            .read("proxy-next-upstream-tries", tries)
            .unwrap_or(default.attempts),
        timeout: view
            .read("proxy-next-upstream-timeout", time_limit)
            .unwrap_or(default.timeout),
    }
}
