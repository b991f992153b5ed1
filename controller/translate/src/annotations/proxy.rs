//! Timeouts of upstreams, and retries.

use sluice_ir::{Retries, Timeouts};
use sluice_syntax::settings::retries::{conditions, time_limit, tries};
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::Support;

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
        .differs("one timeout for both directions: proxy-read-timeout")
        .nginx(Support::Full),
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
pub(super) fn timeouts(view: &mut View<'_, '_>, globals: &Globals) -> Timeouts {
    let default = globals.upstream.timeouts;
    Timeouts {
        send: view
            .read("proxy-send-timeout", value::seconds)
            .unwrap_or(default.send),
        read: view
            .read("proxy-read-timeout", value::seconds)
            .unwrap_or(default.read),
    }
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
