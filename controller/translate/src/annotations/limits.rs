//! Rate and connection limits per client.

use std::num::NonZeroU32;

use sluice_ir::{ClientLimits, ConnectionLimit, Rate};
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::Support;

const BURST: u32 = 5;
const NOBODY: &str = "no client is exempt";
const COUNTED: &str = "a request whose path is encoded, or with --scopes-from hosts and more whose host is no exact name, is counted \
     after access control; one that is turned away there, for its path by itself";

pub(super) const GROUP: Group = Group {
    title: "Limits",
    annotations: &[
        annotation("limit-connections", Value::Int, Risk::Low, Scope::Location)
            .access_control()
            .partly("a request is counted after IP access control, authentication and limit-rps")
            .nginx(Support::Full),
        annotation("limit-rps", Value::Int, Risk::Low, Scope::Location)
            .access_control()
            .partly(COUNTED)
            .nginx(Support::Full),
        annotation("limit-rpm", Value::Int, Risk::Low, Scope::Location)
            .access_control()
            .partly(COUNTED)
            .nginx(Support::Full),
        annotation(
            "limit-burst-multiplier",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .narrows("the burst is the limit itself")
        .full(),
        annotation("limit-rate", Value::Int, Risk::Low, Scope::Location)
            .partly("per response; WebSockets are not limited")
            .nginx(Support::Full),
        annotation("limit-rate-after", Value::Int, Risk::Low, Scope::Location)
            .instead("limit-rate applies from the first byte")
            .nginx(Support::Full)
            .harmless(&["0"]),
        annotation("limit-allowlist", Value::Cidrs, Risk::Low, Scope::Location)
            .narrows(NOBODY)
            .full(),
        annotation("limit-whitelist", Value::Cidrs, Risk::Low, Scope::Location)
            .alias_of("limit-allowlist")
            .narrows(NOBODY)
            .full(),
    ],
};

/// KiB of one answer in a second.
pub(super) fn rate(view: &mut View<'_, '_>, globals: &Globals) -> Option<NonZeroU32> {
    view.count("limit-rate")
        .map_or(globals.limits.rate, NonZeroU32::new)
}

/// KiB of one answer that come before that.
pub(super) fn rate_after(view: &mut View<'_, '_>, globals: &Globals) -> u32 {
    view.count("limit-rate-after")
        .unwrap_or(globals.limits.rate_after)
}

pub(super) fn limits(view: &mut View<'_, '_>, globals: &Globals) -> Option<ClientLimits> {
    let multiplier = match view.strict("limit-burst-multiplier", value::count, BURST, 1) {
        0 => BURST,
        times => times,
    };
    let exempt = view.strict("limit-allowlist", value::cidrs, Vec::new(), Vec::new());
    let mut rate = |name| {
        let requests = NonZeroU32::new(view.count(name)?)?;
        Some(Rate {
            requests,
            burst: requests.get().saturating_mul(multiplier),
        })
    };
    let (per_second, per_minute) = (rate("limit-rps"), rate("limit-rpm"));
    let most = view.count("limit-connections").and_then(NonZeroU32::new);
    let connections = most.map(|most| ConnectionLimit {
        max: most,
        status: globals.limits.connection_status,
    });
    let zone = view.reporter.object().key.to_string();
    let limits = ClientLimits {
        zone,
        per_second,
        per_minute,
        connections,
        exempt,
        status: globals.limits.request_status,
    };
    (limits.has_rates() || limits.connections.is_some()).then_some(limits)
}
