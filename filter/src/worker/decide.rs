//! Decisions of the core, applied to the host.

use sluice_filter_config::Host;
use sluice_filter_core::{Decision, Forward, Reply, Rewriting};

use super::Worker;
use super::limits::{self, Admission};
use crate::host_request::HostRequest;
use crate::in_flight::InFlight;
use crate::request_action::RequestAction;
use crate::{host, host_contract};

impl Worker {
    /// Decides a request of this route, and makes it so in the host.
    pub(super) fn decide(&mut self, context: u32, route: &str) -> RequestAction {
        let (now, request) = (host::now(), HostRequest::new(self.host));
        let decision = match self.tables.decide(route, &request, now, &mut self.rng) {
            Decision::CheckLimits(limits) => {
                let counters = (&mut self.rates, &mut self.connections);
                match limits::check(self.host, counters, limits, &request, now) {
                    Admission::Early => return RequestAction::Continue,
                    Admission::Refused(reply) => Decision::Reply(reply),
                    Admission::Admitted(client) => {
                        self.in_flight.keep_connection(context, client);
                        self.tables
                            .decide_admitted(route, &request, now, &mut self.rng)
                    }
                }
            }
            decision => decision,
        };
        match decision {
            Decision::Forward(forward) => self.in_flight.forward(self.host, context, forward),
            // A redirect or a direct response of the route needs no endpoint, so none is missing.
            Decision::Reply(reply) if host_contract::is_forwarded(self.host) => {
                // nginx has pages of its own, and its `error_page` replaces them.
                let body = match self.host {
                    Host::Nginx => "",
                    _ => reply.body,
                };
                host::reply(Reply { body, ..reply });
                return RequestAction::Respond;
            }
            Decision::Reply(_) | Decision::CheckLimits(_) => {}
            Decision::External { rewriting } => {
                self.in_flight.rewrite(self.host, context, rewriting);
                host_contract::clear_choice(self.host);
            }
            Decision::Unknown => {
                let counter = self.unknown_routes;
                if let Some(counter) = counter.filter(|_| host_contract::is_forwarded(self.host)) {
                    host::count(counter);
                }
                host_contract::clear_choice(self.host);
            }
        }
        RequestAction::Continue
    }
}

impl InFlight {
    fn forward(&mut self, host: Host, context: u32, forward: Forward<'_>) {
        self.rewrite(host, context, forward.rewriting);
        if let Some(backend) = forward.backend {
            host_contract::set_backend(host, backend);
        }
        host_contract::set_endpoints(host, forward.candidates);
        if host == Host::NgxWasm && forward.token.is_some() {
            host_contract::set_retry_owner(context);
        }
        self.keep_token(context, forward.token);
    }

    /// Keeps the replacements of a response. nginx replaces by itself, by `proxy_redirect` and the like.
    fn rewrite(&mut self, host: Host, context: u32, rewriting: Option<&Rewriting>) {
        if let Some(rewriting) = rewriting.filter(|_| !host.is_nginx()) {
            self.keep_rewrites(context, rewriting.compile(&HostRequest::new(host)));
        }
    }
}
