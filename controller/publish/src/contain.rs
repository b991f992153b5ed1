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

/// State of the searches after rejections; one aspect may be rejected for long, for a reason that is in no part of it.
#[derive(Debug, Default)]
pub(crate) struct Incidents {
    routes: Incident,
    tls: Incident,
}

/// State of the search after a rejection of one aspect.
#[derive(Debug, Default)]
struct Incident {
    round: Round,
    /// Parts held since its beginning.
    held: Vec<Part>,
    /// Whole hosts are held in the place of parts that did not suffice.
    is_widened: bool,
    end: Option<End>,
}

/// Why nothing more is tried.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// All that was held did not help; the next publication may.
    Unsolved,
    /// Candidates with everything are accepted: no part is at fault, as long as this is what a data plane says.
    Nobody(String),
}

/// Next thing to do about an aspect.
enum Resumed {
    Over,
    /// Whole hosts are held now in the place of parts of them.
    Widened,
    /// The reason of the rejection.
    Search(String),
}

impl Incident {
    fn is_open(&self) -> bool {
        self.end.is_some() || self.round != Round::New
    }

    /// True if a part is at fault that is still looked for, or was not found. A port that another process has is no part's fault.
    fn is_of_parts(&self) -> bool {
        self.is_open() && !matches!(self.end, Some(End::Nobody(_)))
    }
}

impl Incidents {
    fn of(&mut self, aspect: Aspect) -> &mut Incident {
        match aspect {
            Aspect::Routes => &mut self.routes,
            Aspect::Tls => &mut self.tls,
        }
    }

    fn are_open(&self) -> bool {
        self.routes.is_open() || self.tls.is_open()
    }

    pub(crate) fn are_of_parts(&self) -> bool {
        self.routes.is_of_parts() || self.tls.is_of_parts()
    }

    /// A new publication may help. What is refused of TLS for no part of it is refused of the next one, too, as long as the reason is the
    /// same, and all hosts are not tried for each change of one.
    pub(crate) fn begin_anew(&mut self) {
        if self.routes.end.is_some() {
            self.routes = Incident::default();
        }
        if self.tls.end == Some(End::Unsolved) {
            self.tls = Incident::default();
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
        let is_published_again = self.contain(&routes, tls.as_deref()).await;
        // A listener whose port another process has says nothing of the configuration.
        let is_of_nobody = matches!(self.incidents.tls.end, Some(End::Nobody(_)));
        let is_tls_accepted = tls.is_none() || is_of_nobody;
        if !is_published_again && routes.is_empty() && is_tls_accepted {
            self.is_accepted = true;
            self.quarantine.accept(self.publication());
            self.releases.resume(&self.quarantine);
            if self.known.is_some() {
                self.schedule_removals(Update::default());
            }
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
        let is_undecided = !self.is_accepted && (self.nginx.is_some() || self.incidents.are_open());
        let accepted = self.quarantine.last_accepted().filter(|_| is_undecided)?;
        Some(before.with_routes_of(&accepted.config))
    }

    pub(crate) fn publication(&self) -> Publication {
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

    /// Searches for what is at fault, and publishes without it; whether it did.
    async fn contain(&mut self, routes: &Rejections, tls: Option<&str>) -> bool {
        let of_routes = (!routes.is_empty()).then(|| format!("{routes:?}"));
        let refused = [
            (Aspect::Routes, of_routes),
            (Aspect::Tls, tls.map(str::to_owned)),
        ];
        let (mut is_held, mut searched) = (false, Vec::new());
        for (aspect, reason) in refused {
            match self.resume(aspect, reason) {
                Resumed::Over => {}
                Resumed::Widened => is_held = true,
                Resumed::Search(reason) => searched.push((aspect, reason)),
            }
        }
        for (aspect, reason) in searched {
            let found = self.search(aspect, routes, reason).await;
            self.end_probes();
            match found {
                Some(found) => is_held |= found,
                None => {
                    warn!(
                        "a data plane does not answer to candidates; the search for the rejected part begins again"
                    );
                    self.feedback.ask_again();
                    // What was found so far holds, and what it does not explain is rejected again.
                    break;
                }
            }
        }
        if is_held {
            self.publish_again().await;
        }
        is_held
    }

    /// Goes on with the search after a rejection for this reason; `None`: nothing is rejected.
    fn resume(&mut self, aspect: Aspect, reason: Option<String>) -> Resumed {
        let publication = self.publication();
        let incident = self.incidents.of(aspect);
        let is_other =
            matches!(&incident.end, Some(End::Nobody(of)) if Some(of) != reason.as_ref());
        if reason.is_none() || is_other {
            *incident = Incident::default();
        } else if incident.round == Round::All {
            if !std::mem::replace(&mut incident.is_widened, true) {
                let hosts = self.quarantine.widen(&publication, &incident.held);
                if !hosts.is_empty() {
                    incident.held.extend(hosts);
                    return Resumed::Widened;
                }
            }
            // Those were not enough, so they may not have been at fault at all.
            self.quarantine.release(&std::mem::take(&mut incident.held));
        }
        let reason = reason.filter(|_| incident.end.is_none());
        reason.map_or(Resumed::Over, Resumed::Search)
    }

    /// Holds what is at fault. True if there is something, and something else can be published now; `None`: no data plane answers.
    async fn search(
        &mut self,
        aspect: Aspect,
        routes: &Rejections,
        reason: String,
    ) -> Option<bool> {
        let config = self.quarantine.serve(&self.snapshot);
        let publication = Publication {
            config,
            snapshot: self.snapshot.clone(),
        };
        let accepted = self.quarantine.last_accepted().cloned();
        let accepted = accepted.as_deref();
        loop {
            let (round, publication) = (self.incidents.of(aspect).round, publication.clone());
            let inquiry = match aspect {
                Aspect::Routes => Inquiry::about(publication, accepted, routes, round),
                Aspect::Tls => Inquiry::about_tls(publication, accepted, &reason, round),
            };
            let outcome = self.inquire(aspect, inquiry).await?;
            let is_nobody = matches!(&outcome, InquiryOutcome::Parts(parts) if parts.is_empty());
            let is_held = self.hold(aspect, outcome);
            let incident = self.incidents.of(aspect);
            match incident.round.next() {
                // Not among what is new: a data plane that was away may not have accepted the rest.
                Some(next) if is_nobody && round == Round::New => {
                    incident.round = next;
                    continue;
                }
                _ if is_nobody => incident.end = Some(End::Nobody(reason)),
                Some(next) if is_held => incident.round = next,
                _ => incident.end = Some(End::Unsolved),
            }
            return Some(is_held);
        }
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
    pub(crate) async fn probe(
        &self,
        aspect: Aspect,
        candidate: &Config,
    ) -> Option<Result<(), String>> {
        match &self.nginx {
            Some(nginx) => nginx.probe(candidate).await,
            None => {
                let scopes = self.rendered.routes.is_in_use(Discovery::Scopes);
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

    pub(crate) fn end_probes(&self) {
        if self.nginx.is_none() {
            self.served.store.apply(Update::end_of_probes());
        }
    }

    /// Holds culprits back. True if something else can be published now.
    fn hold(&mut self, aspect: Aspect, outcome: InquiryOutcome) -> bool {
        let publication = self.publication();
        match outcome {
            InquiryOutcome::Parts(parts) => {
                let held = &mut self.incidents.of(aspect).held;
                held.extend(parts.iter().map(|(part, _)| part.clone()));
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

    pub(crate) async fn publish_again(&mut self) {
        let config = self.prepared().await;
        let config = self.with_posted(config);
        let before = std::mem::replace(&mut self.effective, config);
        self.publish_routes(&before).await;
    }
}
