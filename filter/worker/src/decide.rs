//! Decisions of the core, applied to the host.

use sluice_filter_core::{Decision, Forward, Rewriting};

use crate::limits::{self, Admission};
use crate::{Counters, Pending, RequestAction, Stream, Worker};

impl<C: Counters> Worker<C> {
    /// Decides a request of this route, and makes it so in the host.
    pub(crate) fn decide(
        &mut self,
        stream: &impl Stream,
        route: &str,
        pending: &mut Pending,
    ) -> RequestAction {
        let now = stream.now();
        if self.tables.has_ejections() {
            stream.report_ejections(&self.tables.take_ejections(now));
        }
        let decision = match self.tables.decide(route, stream, now, &mut self.rng) {
            Decision::CheckLimits(limits) => {
                match limits::check(&mut self.counters, limits, stream) {
                    Admission::Early => return RequestAction::Continue,
                    Admission::Refused(reply) => Decision::Reply(reply),
                    Admission::Admitted(client) => {
                        pending.client = client;
                        self.tables
                            .decide_admitted(route, stream, now, &mut self.rng)
                    }
                }
            }
            decision => decision,
        };
        match decision {
            Decision::Forward(decided) => forward(stream, decided, pending),
            // A redirect or a direct response of the route needs no endpoint, so none is missing.
            Decision::Reply(reply) if stream.is_forwarded() => {
                stream.reply(reply);
                return RequestAction::Respond;
            }
            Decision::Reply(_) | Decision::CheckLimits(_) => {}
            Decision::External { rewriting } => {
                keep_rewrites(stream, rewriting, pending);
                stream.clear_choice();
            }
            Decision::Unknown => {
                if stream.is_forwarded() {
                    stream.count_unknown_route();
                }
                stream.clear_choice();
            }
        }
        RequestAction::Continue
    }
}

fn forward(stream: &impl Stream, forward: Forward<'_>, pending: &mut Pending) {
    keep_rewrites(stream, forward.rewriting, pending);
    if let Some(backend) = forward.backend {
        stream.set_backend(backend);
    }
    stream.set_endpoints(forward.candidates);
    pending.token = forward.token;
}

/// Keeps the replacements of a response. nginx replaces by itself, by `proxy_redirect` and the like.
fn keep_rewrites(stream: &impl Stream, rewriting: Option<&Rewriting>, pending: &mut Pending) {
    if let Some(rewriting) = rewriting.filter(|_| !stream.is_nginx()) {
        pending.rewrites = Some(rewriting.compile(stream));
    }
}
