//! Decisions of the core, applied to the host.

use proxy_wasm::types::LogLevel;
use sluice_filter_config::Host;
use sluice_filter_core::connections::{self, ConnectionLimit, Connections, Entry, Unavailable};
use sluice_filter_core::{Decision, Fact, Forward, Request as _, Rewriting, Timestamp};

use super::Worker;
use crate::fate::Fate;
use crate::open::Open;
use crate::view::View;
use crate::{host, signals};

impl Worker {
    /// Decides a request of this location, and makes it so in the host.
    pub(super) fn decide(&mut self, context: u32, location: &str) -> Fate {
        let (now, request) = (host::now(), View::new(self.host));
        let decision = match self.tables.decide(location, &request, now, &mut self.rng) {
            Decision::CheckLimit(limit) => {
                match enter(self.host, &mut self.connections, limit, &request, now) {
                    Entry::Refused => Decision::Reply(limit.refusal()),
                    entry => {
                        self.open.count(context, entry.client());
                        self.tables
                            .decide_admitted(location, &request, now, &mut self.rng)
                    }
                }
            }
            decision => decision,
        };
        match decision {
            Decision::Forward(forward) => self.open.forward(self.host, context, forward),
            // A redirect or a direct response of the route needs no endpoint, so none is missing.
            Decision::Reply(reply) if signals::is_forwarded(self.host) => {
                host::reply(reply);
                return Fate::Answered;
            }
            Decision::Reply(_) | Decision::CheckLimit(_) => {}
            Decision::External { rewriting } => {
                self.open.rewrite(self.host, context, rewriting);
                signals::forward_anywhere(self.host);
            }
            Decision::Unknown => {
                let counter = self.unknown_locations;
                if let Some(counter) = counter.filter(|_| signals::is_forwarded(self.host)) {
                    host::count(counter);
                }
                signals::forward_anywhere(self.host);
            }
        }
        Fate::GoesOn
    }
}

/// Counts a request against a limit. nginx does so itself, by `limit_conn`, and an Envoy route without a cluster
/// occupies no endpoint.
fn enter(
    host: Host,
    connections: &mut Connections,
    limit: &ConnectionLimit,
    request: &View,
    now: Timestamp,
) -> Entry {
    if host.is_nginx() || !signals::is_forwarded(host) {
        return Entry::Exempt;
    }
    let address = connections::address(&request.fact(Fact::ClientAddress).unwrap_or_default());
    let entry = connections.enter(limit, &address, now, &host::SharedData);
    entry.unwrap_or_else(|Unavailable| {
        if connections.is_failure_news() {
            let message = "the host shares no data, so requests in process are not limited";
            host::log(LogLevel::Error, message);
        }
        Entry::Exempt
    })
}

impl Open {
    fn forward(&mut self, host: Host, context: u32, forward: Forward<'_>) {
        self.rewrite(host, context, forward.rewriting);
        if let Some(backend) = forward.backend {
            signals::route_to(host, backend);
        }
        signals::forward_to(host, forward.candidates);
        if host == Host::NgxWasm && forward.ticket.is_some() {
            signals::sign(context);
        }
        self.keep(context, forward.ticket);
    }

    /// Keeps the replacements of a response. nginx replaces by itself, by `proxy_redirect` and the like.
    fn rewrite(&mut self, host: Host, context: u32, rewriting: Option<&Rewriting>) {
        if let Some(rewriting) = rewriting.filter(|_| !host.is_nginx()) {
            self.keep_rewrites(context, rewriting.of(&View::new(host)));
        }
    }
}
