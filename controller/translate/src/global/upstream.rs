//! Connections to pods: balancing, protocol, timeouts, retries, keep-alive.

use std::num::NonZeroU32;

use sluice_ir::{ReasonCode, Retries, Timeouts, Transport};
use sluice_syntax::settings::retries::{conditions, time_limit, tries};
use sluice_syntax::settings::upstream::{algorithm, is_http10};
use sluice_syntax::value;
use sluice_translate_engine::{Balance, Severity};

use super::keys::{Key, key};
use super::view::View;
use crate::support::{SEND_IS_LONGER, SEND_TIMEOUT, Support};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("load-balance", "").full(),
    key("proxy-connect-timeout", "5").full(),
    key("proxy-http-version", "1.1").instead("upstreams are reached over HTTP/1.1").native(),
    key("proxy-next-upstream", "error timeout").full(),
    key("proxy-next-upstream-timeout", "0").instead("bound retries by proxy-next-upstream-tries and proxy-read-timeout").native(),
    key("proxy-next-upstream-tries", "3").full(),
    key("proxy-read-timeout", "60").full(),
    key("proxy-send-timeout", "60").supported(SEND_TIMEOUT),
    key("proxy-ssl-location-only", "false").partly("proxy-ssl-* hold for the paths of their Ingress either way; with false, others of the host with pods over TLS are told"),
    key("retry-non-idempotent", "false").full(),
    key("service-upstream", "false").full(),
    key("upstream-keepalive-connections", "320").instead("connections are kept for upstream-keepalive-timeout, however many").nginx(Support::Unsupported("each worker keeps 320 for each way in which pods are spoken to")),
    key("upstream-keepalive-requests", "10000").full(),
    key("upstream-keepalive-time", "1h").full(),
    key("upstream-keepalive-timeout", "60").full(),
];

/// Connections to pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) transport: Transport,
    pub(crate) timeouts: Timeouts,
    pub(crate) retries: Retries,
    /// `proxy-http-version`
    pub(crate) http10: bool,
    /// `proxy-ssl-location-only`: nobody expects settings of TLS to pods to hold for other Ingresses.
    pub(crate) tls_of_own_paths: bool,
    pub(crate) balance: Balance,
}

impl Upstream {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        view.set(&mut self.balance.load_balance, "load-balance", algorithm);
        view.set(
            &mut self.balance.service_upstream,
            "service-upstream",
            value::bool,
        );
        view.set(
            &mut self.transport.connect_timeout,
            "proxy-connect-timeout",
            value::seconds,
        );
        view.set(&mut self.http10, "proxy-http-version", is_http10);
        view.set(
            &mut self.tls_of_own_paths,
            "proxy-ssl-location-only",
            value::bool,
        );
        self.take_keep_alive(view);
        self.take_timeouts_and_retries(view);
    }

    fn take_timeouts_and_retries(&mut self, view: &mut View<'_, '_>) {
        let Timeouts { send, read } = &mut self.timeouts;
        view.set(send, "proxy-send-timeout", value::seconds);
        view.set(read, "proxy-read-timeout", value::seconds);
        let differs = SEND_TIMEOUT.partly(view.served_by());
        if let Some(applies_to) = differs.filter(|_| *send > *read) {
            view.report(
                ReasonCode::PartiallySupported,
                Severity::Note,
                "proxy-send-timeout",
                applies_to.note(SEND_IS_LONGER),
                "served with this difference",
            );
        }
        let Retries {
            on,
            attempts,
            timeout,
        } = &mut self.retries;
        view.set(on, "proxy-next-upstream", conditions);
        view.set(&mut on.non_idempotent, "retry-non-idempotent", value::bool);
        view.set(attempts, "proxy-next-upstream-tries", tries);
        view.set(timeout, "proxy-next-upstream-timeout", time_limit);
    }

    fn take_keep_alive(&mut self, view: &mut View<'_, '_>) {
        let keep = &mut self.transport.keep_alive;
        view.set(
            &mut keep.idle_timeout,
            "upstream-keepalive-timeout",
            value::seconds,
        );
        view.set(
            &mut keep.max_requests,
            "upstream-keepalive-requests",
            |text| Ok(NonZeroU32::new(value::count(text)?)),
        );
        view.set(&mut keep.max_lifetime, "upstream-keepalive-time", |text| {
            Ok(NonZeroU32::new(value::span(text)? / 1000))
        });
    }
}
