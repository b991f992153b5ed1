//! Limits of a client, counted with all workers. nginx counts by itself, by `limit_req` and `limit_conn`.
//!
//! Rates count before access control, as in nginx, so that passwords cannot be tried without end: there the filter is asked a first time,
//! as `sluice.lookup`, and an Envoy filter behind that refuses. A request whose route was not known when it began has not come
//! by there with its route, and counts when the filter chooses its endpoint.

use sluice_filter_config::host_contract::LIMITED_HEADER;
use sluice_filter_core::connections::{Client, ConnectionLimit, Entry};
use sluice_filter_core::rates::RateLimit;
use sluice_filter_core::shared::Unavailable;
use sluice_filter_core::{Fact, Limits, Reply, client};

use crate::{Counters, LogLevel, Stream};

/// Result of the limits.
pub(crate) enum Admission {
    /// The request is counted, where it is.
    Admitted(Option<Client>),
    /// It is too much.
    Refused(Reply),
    /// The time to choose an endpoint has not come.
    Early,
}

/// Counts a request against the limits of its route. An Envoy route without a cluster occupies no endpoint.
pub(crate) fn check(
    counters: &mut impl Counters,
    limits: Limits<'_>,
    stream: &impl Stream,
) -> Admission {
    let is_early = stream.is_managed_envoy() && stream.is_before_lookup();
    if stream.is_nginx() || !(is_early || stream.is_forwarded()) {
        return Admission::Admitted(None);
    }
    let address = stream.fact(Fact::ClientAddress).unwrap_or_default();
    let address = client::address(&address);
    if let Some(limit) = limits.rates {
        let is_counted = !is_early && stream.is_counted();
        let is_admitted = is_counted || admit(counters, limit, &address, stream);
        match (is_early, is_admitted) {
            (true, true) => stream.set_counted(),
            (true, false) => stream.set_request_header(LIMITED_HEADER, b"1"),
            (false, true) => {}
            (false, false) => return Admission::Refused(limit.refusal()),
        }
    }
    if is_early {
        return Admission::Early;
    }
    match limits.connections {
        Some(limit) => match enter(counters, limit, &address, stream) {
            Entry::Refused => Admission::Refused(limit.refusal()),
            entry => Admission::Admitted(entry.client()),
        },
        None => Admission::Admitted(None),
    }
}

fn admit(
    counters: &mut impl Counters,
    limit: &RateLimit,
    address: &[u8],
    stream: &impl Stream,
) -> bool {
    counters
        .admit(limit, address, stream.now())
        .unwrap_or_else(|Unavailable| {
            log_once(counters, stream);
            true
        })
}

fn enter(
    counters: &mut impl Counters,
    limit: &ConnectionLimit,
    address: &[u8],
    stream: &impl Stream,
) -> Entry {
    counters
        .enter(limit, address, stream.now())
        .unwrap_or_else(|Unavailable| {
            log_once(counters, stream);
            Entry::Exempt
        })
}

fn log_once(counters: &mut impl Counters, stream: &impl Stream) {
    if counters.take_failure_notice() {
        let message =
            "the host shares no data, so rates and concurrent requests of clients are not limited";
        stream.log(LogLevel::Error, message);
    }
}
