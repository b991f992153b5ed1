//! Containment after a rejection: candidates are tried beside all traffic, and everything but the culprits is published again.

use std::time::Duration;

use sluice_ir::Config;
use sluice_xds::{Discovery, Probe, Update};
use tokio::task::block_in_place;
use tracing::{error, info, warn};

use crate::Publisher;
#[cfg(debug_assertions)]
use crate::fault;
use crate::feedback::Decision;
use sluice_quarantine::{
    self, Aspect, Inquiry, InquiryOutcome, Part, Publication, Rejections, Round, Step,
};

/// Longest wait for all Envoys' answers to a candidate.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// State of the search after a rejection.
#[derive(Debug, Default)]
pub(crate) struct Incident {
    round: Round,
    /// Parts held since its beginning.
    held: Vec<Part>,
    /// Nothing helped: nothing more is tried until the next publication.
    is_given_up: bool,
}

impl Incident {
    fn is_open(&self) -> bool {
        self.is_given_up || self.round != Round::New
    }

    /// A new publication may help.
    pub(crate) fn begin_anew(&mut self) {
        if self.is_given_up {
            *self = Incident::default();
        }
    }
}

impl Publisher {
    pub(crate) async fn take_decision(&mut self, decision: Decision) {
        let Decision {
            routes,
            tls,
            others,
        } = decision;
        let was_quiet = self.is_quiet();
        self.refused_resources = sluice_quarantine::of_resources(&others, &self.snapshot);
        if routes.is_empty() && tls.is_none() {
            self.incident = Incident::default();
            self.is_accepted = true;
            self.quarantine.accept(self.publication());
            if self.known.is_some() {
                self.schedule_removals(Update::default());
            }
        } else if !self.incident.is_given_up {
            self.contain(&routes, tls.as_deref()).await;
        }
        // Usually nothing changed, and comparing all reports costs.
        if !(was_quiet && self.is_quiet()) {
            self.report();
        }
    }

    /// Nothing is rejected.
    fn is_quiet(&self) -> bool {
        self.refused_resources.is_empty() && self.quarantine.is_empty()
    }

    /// Configuration that data planes may still serve beside `before`, if they may have rejected that.
    pub(crate) fn still_served(&self, before: &Config) -> Option<Config> {
        let is_undecided = !self.is_accepted && (self.nginx.is_some() || self.incident.is_open());
        let accepted = self.quarantine.last_accepted().filter(|_| is_undecided)?;
        Some(before.with_routes_of(&accepted.config))
    }

    fn publication(&self) -> Publication {
        Publication {
            config: self.effective.clone(),
            snapshot: self.snapshot.clone(),
        }
    }

    /// Logs new reports, and notifies of those that are over.
    pub(crate) fn report(&mut self) {
        let held = self.quarantine.reports(&self.snapshot);
        self.metrics.held(&self.quarantine.culprits(&self.snapshot));
        let of_data_plane = [
            &self.unsupported_by_nginx[..],
            &self.unserved_firewalls,
            &held,
            &self.refused_resources,
        ]
        .concat();
        block_in_place(|| {
            self.report_log
                .record(self.snapshot.reports(), &of_data_plane);
        });
    }

    async fn contain(&mut self, routes: &Rejections, tls: Option<&str>) {
        if self.incident.round == Round::All {
            // Those were not enough, so they may not have been at fault at all.
            self.quarantine
                .release(&std::mem::take(&mut self.incident.held));
        }
        let config = self.quarantine.serve(&self.snapshot);
        let publication = Publication {
            config,
            snapshot: self.snapshot.clone(),
        };
        let accepted = self.quarantine.last_accepted().cloned();
        let (accepted, round) = (accepted.as_deref(), self.incident.round);
        let of_routes = (!routes.is_empty())
            .then(|| Inquiry::about(publication.clone(), accepted, routes, round));
        let of_tls = tls.map(|message| Inquiry::about_tls(publication, accepted, message, round));
        let load_results = self
            .inquire_all([(Aspect::Routes, of_routes), (Aspect::Tls, of_tls)])
            .await;
        self.end_probes();
        let Some(load_results) = load_results else {
            warn!(
                "a data plane does not answer to candidates; the search for the rejected part begins again"
            );
            return self.feedback.ask_again();
        };
        let held: Vec<bool> = load_results
            .into_iter()
            .map(|loaded| self.hold(loaded))
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

    async fn inquire_all(
        &self,
        inquiries: [(Aspect, Option<Inquiry>); 2],
    ) -> Option<Vec<InquiryOutcome>> {
        let mut load_results = Vec::new();
        for (aspect, inquiry) in inquiries {
            if let Some(inquiry) = inquiry {
                load_results.push(self.inquire(aspect, inquiry).await?);
            }
        }
        Some(load_results)
    }

    async fn inquire(&self, aspect: Aspect, mut inquiry: Inquiry) -> Option<InquiryOutcome> {
        let mut tried = 0;
        loop {
            match inquiry.next_step() {
                Step::Try(candidate) => {
                    tried += 1;
                    inquiry.answer(self.probe(aspect, &candidate).await?);
                }
                Step::Done(loaded) => {
                    let found = match &loaded {
                        InquiryOutcome::Parts(parts) if parts.is_empty() => "no part",
                        InquiryOutcome::Parts(_) => "the parts",
                        InquiryOutcome::Global(_) => "settings of all hosts",
                    };
                    info!("found {found} that the data plane rejects; candidates tried: {tried}");
                    return Some(loaded);
                }
            }
        }
    }

    /// Asks data planes whether they accept a configuration, which serves nobody.
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
                // Without a listener there is nothing to reject.
                let Some(probe) = probe else {
                    return Some(Ok(()));
                };
                #[cfg(debug_assertions)]
                let probe = probe.map(fault::spoil);
                self.served.store.probe(probe, PROBE_TIMEOUT).await
            }
        }
    }

    fn end_probes(&self) {
        if self.nginx.is_none() {
            self.served.store.apply(Update::end_of_probes());
        }
    }

    /// Holds culprits back. True if something else can be published now.
    fn hold(&mut self, loaded: InquiryOutcome) -> bool {
        let publication = self.publication();
        match loaded {
            InquiryOutcome::Parts(parts) => {
                self.incident
                    .held
                    .extend(parts.iter().map(|(part, _)| part.clone()));
                let found = !parts.is_empty();
                self.quarantine.hold(&publication, parts);
                found
            }
            InquiryOutcome::Global(message) => {
                error!(
                    "the data plane rejects settings of all hosts, which are from the ConfigMap and flags, and keeps \
                     its configuration: {message}"
                );
                self.quarantine.hold_global(&publication)
            }
        }
    }

    async fn publish_again(&mut self) {
        let config = self.prepared().await;
        let config = self.with_posted(config);
        let before = std::mem::replace(&mut self.effective, config);
        self.publish_routes(&before).await;
    }
}
