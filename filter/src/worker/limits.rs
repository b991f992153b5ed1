//! Limits of a client, counted with all workers. nginx counts by itself, by `limit_req` and `limit_conn`.
//!
//! Rates count before access control, as in nginx, so that passwords cannot be tried without end: there the filter is asked a first time,
//! as `sluice.lookup`, and an Envoy filter behind that refuses. A request whose route was not known when it began has not come
//! by there with its route, and counts when the filter chooses its endpoint.

use proxy_wasm::types::LogLevel;
use sluice_filter_config::Host;
use sluice_filter_config::host_contract::{COUNTED, LIMITED_HEADER};
use sluice_filter_core::connections::{Client, ConnectionLimit, Connections, Entry};
use sluice_filter_core::rates::{RateLimit, Rates};
use sluice_filter_core::shared::Unavailable;
use sluice_filter_core::{Fact, Limits, Reply, Request as _, Timestamp, client};

use crate::host_request::HostRequest;
use crate::{host, host_contract, lookup};

/// Result of the limits.
pub(super) enum Admission {
    /// The request is counted, where it is.
    Admitted(Option<Client>),
    /// It is too much.
    Refused(Reply),
    /// The time to choose an endpoint has not come.
    Early,
}

/// Counts a request against the limits of its route. An Envoy route without a cluster occupies no endpoint.
pub(super) fn check(
    host: Host,
    (rates, connections): (&mut Rates, &mut Connections),
    limits: Limits<'_>,
    request: &HostRequest,
    now: Timestamp,
) -> Admission {
    let is_early = host == Host::ManagedEnvoy && lookup::is_lookup_filter();
    if host.is_nginx() || !(is_early || host_contract::is_forwarded(host)) {
        return Admission::Admitted(None);
    }
    let address = client::address(&request.fact(Fact::ClientAddress).unwrap_or_default());
    if let Some(limit) = limits.rates {
        let is_counted = !is_early && host::property(COUNTED.as_bytes()).is_some();
        let is_admitted = is_counted || admit(rates, limit, &address, now);
        match (is_early, is_admitted) {
            (true, true) => host::set_property(COUNTED, "1"),
            (true, false) => host::set_request_header(LIMITED_HEADER, b"1"),
            (false, true) => true,
            (false, false) => return Admission::Refused(limit.refusal()),
        };
    }
    if is_early {
        return Admission::Early;
    }
    match limits.connections {
        Some(limit) => match enter(connections, limit, &address, now) {
            Entry::ApplyError => Admission::Refused(limit.refusal()),
            entry => Admission::Admitted(entry.client()),
        },
        None => Admission::Admitted(None),
    }
}

fn admit(rates: &mut Rates, limit: &RateLimit, address: &[u8], now: Timestamp) -> bool {
    let admitted = rates.admit(limit, address, now, &host::SharedData);
    admitted.unwrap_or_else(|Unavailable| {
        log_once(
            rates.is_failure_news(),
            "the host shares no data, so rates of requests are not limited",
        );
        true
    })
}

fn enter(
    connections: &mut Connections,
    limit: &ConnectionLimit,
    address: &[u8],
    now: Timestamp,
) -> Entry {
    let entry = connections.enter(limit, address, now, &host::SharedData);
    entry.unwrap_or_else(|Unavailable| {
        log_once(
            connections.is_failure_news(),
            "the host shares no data, so requests in process are not limited",
        );
        Entry::Exempt
    })
}

fn log_once(is_news: bool, message: &str) {
    if is_news {
        host::log(LogLevel::Error, message);
    }
}
