//! Containment after a rejection: candidates are tried beside all traffic, and everything but the culprits is published again.

use std::time::Duration;

use sluice_ir::Config;
use sluice_xds::{Discovery, Probe, Update};
use tokio::task::block_in_place;
use tracing::{error, info, warn};

use super::Publisher;
#[cfg(debug_assertions)]
use crate::fault;
use sluice_quarantine::{
    self, Aspect, Decision, Given, Inquiry, Part, Refused, Round, Step, Verdict,
};

/// Longest wait for what all Envoys think of a candidate.
const PROBED: Duration = Duration::from_secs(10);

/// State of the search after a rejection.
#[derive(Debug, Default)]
pub(super) struct Incident {
    round: Round,
    /// Held since then.
    held: Vec<Part>,
    /// Nothing helps: until something is published, nothing more is tried.
    is_given_up: bool,
}

impl Incident {
    fn is_open(&self) -> bool {
        self.is_given_up || self.round != Round::New
    }

    /// Something is published: it may be what helps.
    pub(super) fn begin_anew(&mut self) {
        if self.is_given_up {
            *self = Incident::default();
        }
    }
}

impl Publisher {
    pub(super) async fn take_decision(&mut self, decision: Decision) {
        let Decision {
            routes,
            tls,
            others,
        } = decision;
        let was_quiet = self.is_quiet();
        self.refused_resources = sluice_quarantine::of_resources(&others, &self.snapshot);
        if routes.is_empty() && tls.is_none() {
            self.incident = Incident::default();
            self.is_taken = true;
            self.quarantine.taken(self.given());
            if self.known.is_some() {
                self.schedule(Update::default());
            }
        } else if !self.incident.is_given_up {
            self.contain(&routes, tls.as_deref()).await;
        }
        // Usually there is nothing to say, at the cost of all that could be said.
        if !(was_quiet && self.is_quiet()) {
            self.tell();
        }
    }

    /// Nothing is refused.
    fn is_quiet(&self) -> bool {
        self.refused_resources.is_empty() && self.quarantine.is_empty()
    }

    /// Configuration that data planes may still serve beside `before`, if they may have rejected that.
    pub(super) fn still_served(&self, before: &Config) -> Option<Config> {
        let is_undecided = !self.is_taken && (self.nginx.is_some() || self.incident.is_open());
        let taken = self.quarantine.last().filter(|_| is_undecided)?;
        Some(before.with_routes_of(&taken.config))
    }

    fn given(&self) -> Given {
        Given {
            config: self.effective.clone(),
            snapshot: self.snapshot.clone(),
        }
    }

    /// Says what is new, and what is over.
    pub(super) fn tell(&mut self) {
        let held = self.quarantine.reports(&self.snapshot);
        self.metrics.held(&self.quarantine.culprits(&self.snapshot));
        let of_data_plane = [&self.unserved[..], &held, &self.refused_resources].concat();
        block_in_place(|| self.told.tell(self.snapshot.reports(), &of_data_plane));
    }

    async fn contain(&mut self, routes: &Refused, tls: Option<&str>) {
        if self.incident.round == Round::All {
            // Those were not enough, so they may not have been at fault at all.
            self.quarantine
                .release(&std::mem::take(&mut self.incident.held));
        }
        let config = self.quarantine.serve(&self.snapshot);
        let given = Given {
            config,
            snapshot: self.snapshot.clone(),
        };
        let taken = self.quarantine.last().cloned();
        let (taken, round) = (taken.as_deref(), self.incident.round);
        let of_routes =
            (!routes.is_empty()).then(|| Inquiry::about(given.clone(), taken, routes, round));
        let of_tls = tls.map(|said| Inquiry::about_tls(given, taken, said, round));
        let verdicts = self
            .inquire_all([(Aspect::Routes, of_routes), (Aspect::Tls, of_tls)])
            .await;
        self.end_probes();
        let Some(verdicts) = verdicts else {
            warn!(
                "a data plane does not say what it thinks of candidates; what it refused is looked for again"
            );
            return self.feedback.ask_again();
        };
        let held: Vec<bool> = verdicts
            .into_iter()
            .map(|verdict| self.hold(verdict))
            .collect();
        if held.contains(&true) {
            let next = self.incident.round.next();
            self.incident.is_given_up = next.is_none();
            self.incident.round = next.unwrap_or_default();
            self.publish_again().await;
        } else {
            self.incident.is_given_up = true;
        }
    }

    async fn inquire_all(&self, inquiries: [(Aspect, Option<Inquiry>); 2]) -> Option<Vec<Verdict>> {
        let mut verdicts = Vec::new();
        for (aspect, inquiry) in inquiries {
            if let Some(inquiry) = inquiry {
                verdicts.push(self.inquire(aspect, inquiry).await?);
            }
        }
        Some(verdicts)
    }

    async fn inquire(&self, aspect: Aspect, mut inquiry: Inquiry) -> Option<Verdict> {
        let mut tried = 0;
        loop {
            match inquiry.next_step() {
                Step::Try(candidate) => {
                    tried += 1;
                    inquiry.answer(self.probe(aspect, &candidate).await?);
                }
                Step::Done(verdict) => {
                    info!("found what the data plane refuses; candidates tried: {tried}");
                    return Some(verdict);
                }
            }
        }
    }

    /// Asks data planes what they think of a configuration, which serves nobody meanwhile.
    async fn probe(&self, aspect: Aspect, candidate: &Config) -> Option<Result<(), String>> {
        match &self.nginx {
            Some(nginx) => nginx.probe(candidate).await,
            None => {
                let scopes = self.routes.is_in_use(Discovery::Scopes);
                let discovery = if scopes {
                    Discovery::Scopes
                } else {
                    Discovery::Table
                };
                let probe = block_in_place(|| match aspect {
                    Aspect::Routes => Some(Probe::of_routes(candidate, discovery)),
                    Aspect::Tls => Probe::of_tls(candidate, &self.settings, discovery),
                });
                // Without a listener there is nothing to refuse.
                let Some(probe) = probe else {
                    return Some(Ok(()));
                };
                #[cfg(debug_assertions)]
                let probe = probe.map(fault::spoil);
                self.served.store.probe(probe, PROBED).await
            }
        }
    }

    fn end_probes(&self) {
        if self.nginx.is_none() {
            self.served.store.apply(Update::end_of_probes());
        }
    }

    /// Holds culprits back. True if something else can be published now.
    fn hold(&mut self, verdict: Verdict) -> bool {
        let given = self.given();
        match verdict {
            Verdict::Parts(parts) => {
                self.incident
                    .held
                    .extend(parts.iter().map(|(part, _)| part.clone()));
                let found = !parts.is_empty();
                self.quarantine.hold(&given, parts);
                found
            }
            Verdict::Edge(said) => {
                error!(
                    "the data plane refuses what holds for all hosts, as the ConfigMap and the flags say it, and keeps \
                     what it has: {said}"
                );
                self.quarantine.hold_edge(&given)
            }
        }
    }

    async fn publish_again(&mut self) {
        let config = self.quarantine.serve(&self.snapshot);
        let before = std::mem::replace(&mut self.effective, config);
        self.publish_routes(&before).await;
    }
}
