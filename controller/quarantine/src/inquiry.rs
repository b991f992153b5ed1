//! Search for the culprits in a rejected configuration: first among new parts, then among all parts, then whole hosts.
//!
//! Each round ends with a publication; the next round begins only if that is rejected, too.
//!
//! Parts that were set aside with their namespace have inquiries of their own, one a namespace, which decide each of them.
//!
//! Pure: it returns the configuration to try, and takes the result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Config, GlobalConfig, Server, ServerName, changed};

use super::search::{Search, Suspect};
use super::{Part, Publication, Reason};

/// Rejected parts of a configuration, as far as the data plane names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// Hosts that were rejected each by itself, with the message.
    pub hosts: BTreeMap<String, String>,
    /// All hosts that are not exact, rejected together.
    pub inexact: Option<String>,
    /// All hosts, rejected together.
    pub all: Option<String>,
}

impl Rejections {
    /// True if nothing was rejected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Rejections::default()
    }
}

/// Scope of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    #[default]
    /// Parts that are new.
    New,
    /// All parts.
    All,
    /// Whole hosts.
    WholeHosts,
}

impl Round {
    /// The next round; `None` after the last.
    pub fn next(self) -> Option<Self> {
        match self {
            Round::New => Some(Round::All),
            Round::All => Some(Round::WholeHosts),
            Round::WholeHosts => None,
        }
    }
}

/// Part of a configuration that a data plane rejects as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The routes; of nginx everything.
    Routes,
    /// The listener with the filter chains of hosts with TLS.
    Tls,
}

/// Next step of an inquiry.
#[derive(Debug)]
pub enum Step {
    /// Try this configuration, and pass the result to [`Inquiry::answer`].
    Try(Box<Config>),
    /// The search is over.
    Done(InquiryOutcome),
}

/// Outcome of an inquiry.
#[derive(Debug)]
pub enum InquiryOutcome {
    /// The culprits, each with the message of the data plane, and what is held back with them.
    Parts(Vec<(Part, Reason)>),
    /// The settings of all hosts.
    Global(String),
}

/// A search for the culprits.
#[derive(Debug)]
pub struct Inquiry {
    publication: Publication,
    /// Searches, one for each aspect that was rejected.
    groups: Vec<Search<Part>>,
    found: Vec<(Part, Reason)>,
    base: Base,
}

/// Parts that an inquiry has decided.
#[derive(Debug, Default)]
pub struct Decided {
    /// They are accepted.
    pub accepted: Vec<Part>,
    /// They are at fault, each with the message of the data plane.
    pub refused: Vec<(Part, String)>,
}

/// Configuration without any host, which candidates start from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    Unknown,
    Tried,
    Good,
    Bad(String),
}

impl Inquiry {
    /// An inquiry about rejected routes; `accepted` is the last publication that data planes accepted.
    pub fn about(
        publication: Publication,
        accepted: Option<&Publication>,
        refused: &Rejections,
        round: Round,
    ) -> Self {
        let mut groups: Vec<Search<Part>> = Vec::new();
        let host_groups = refused.hosts.iter().filter_map(|(name, message)| {
            let host = publication.host_called(name)?;
            let server = publication.config.servers.get(host)?;
            let parts = parts(&publication, host, server, round != Round::New);
            Some((publication.with_namespaces(parts), message))
        });
        let inexact = refused.inexact.iter().map(|message| {
            (
                publication.suspects(accepted, round, |name| !name.is_exact()),
                message,
            )
        });
        let all = refused
            .all
            .iter()
            .map(|message| (publication.suspects(accepted, round, |_| true), message));
        groups.extend(host_groups.map(|(parts, message)| Search::among(parts, message)));
        // A data plane may have accepted the last publication only because it was not there.
        let together = inexact.chain(all);
        groups.extend(together.map(|(parts, message)| Search::among_suspects(parts, message)));
        Inquiry::among(groups, publication, accepted)
    }

    /// The same for the listener with the filter chains of hosts with TLS, whose settings are a host's as a whole. It may be refused for
    /// what is of no host: a port that another process has.
    pub fn about_tls(
        publication: Publication,
        accepted: Option<&Publication>,
        message: &str,
        round: Round,
    ) -> Self {
        let groups = vec![Search::among_suspects(
            publication.tls_suspects(accepted, round),
            message,
        )];
        Inquiry::among(groups, publication, accepted)
    }

    /// An inquiry about parts that were set aside. What does not depend on hosts has to be accepted.
    pub fn about_each(publication: Publication, parts: Vec<Part>) -> Self {
        let suspects = publication.with_namespaces(parts);
        Inquiry {
            publication,
            groups: vec![Search::of_each(suspects)],
            found: Vec::new(),
            base: Base::Good,
        }
    }

    /// The publication that its candidates are of.
    pub fn publication(&self) -> &Publication {
        &self.publication
    }

    /// True if its candidates have these settings of all hosts.
    pub fn has_global(&self, global: &GlobalConfig) -> bool {
        self.publication.config.global == *global
    }

    /// Parts that were decided since the last call.
    pub fn take_decided(&mut self) -> Decided {
        let mut decided = Decided::default();
        for search in &mut self.groups {
            let (accepted, refused) = search.take_decided();
            decided.accepted.extend(accepted);
            decided.refused.extend(refused);
        }
        decided
    }

    fn among(
        groups: Vec<Search<Part>>,
        publication: Publication,
        accepted: Option<&Publication>,
    ) -> Self {
        let base = if accepted.is_some_and(|accepted| has_base_of(&publication, accepted)) {
            Base::Good
        } else {
            Base::Unknown
        };
        Inquiry {
            publication,
            groups,
            found: Vec::new(),
            base,
        }
    }

    /// The next step.
    pub fn next_step(&mut self) -> Step {
        match &self.base {
            Base::Unknown => {
                self.base = Base::Tried;
                return Step::Try(Box::new(self.publication.only(&[])));
            }
            Base::Bad(message) => return Step::Done(InquiryOutcome::Global(message.clone())),
            Base::Tried | Base::Good => {}
        }
        while let Some(mut search) = self.groups.pop() {
            if let Some(candidate) = search.candidate() {
                self.groups.push(search);
                return Step::Try(Box::new(self.publication.only(&candidate)));
            }
            self.found.extend(search.refused());
        }
        Step::Done(InquiryOutcome::Parts(std::mem::take(&mut self.found)))
    }

    /// Takes the result of the last step.
    pub fn answer(&mut self, answer: Result<(), String>) {
        if self.base == Base::Tried {
            self.base = answer.map_or_else(Base::Bad, |()| Base::Good);
        } else if let Some(search) = self.groups.last_mut() {
            search.answer(answer);
        }
    }
}

/// True if everything that does not depend on hosts is unchanged.
fn has_base_of(publication: &Publication, accepted: &Publication) -> bool {
    let (now, before) = (&publication.config, &accepted.config);
    now.global == before.global && now.streams == before.streams
}

impl Publication {
    /// The parts that may be at fault; those that were accepted before come first.
    fn suspects(
        &self,
        accepted: Option<&Publication>,
        round: Round,
        which: fn(&ServerName) -> bool,
    ) -> Vec<Suspect<Part>> {
        let new = accepted
            .map(|accepted| self.new_since(accepted))
            .unwrap_or_default();
        let is_new = |name: &ServerName| new.contains(name);
        let is_base_new = !accepted.is_some_and(|accepted| has_base_of(self, accepted));
        let hosts = || self.config.servers.iter().filter(|(name, _)| which(name));
        let (is_wide, whole) = (
            round != Round::New || is_base_new,
            round == Round::WholeHosts,
        );
        let old = hosts().filter(|(name, _)| is_wide && !is_new(name));
        let mut suspects =
            self.by_namespace(old.flat_map(|(name, server)| parts(self, name, server, whole)));
        let new = hosts().filter(|(name, _)| is_new(name));
        suspects.extend(
            self.by_namespace(new.flat_map(|(name, server)| parts(self, name, server, whole))),
        );
        if suspects.is_empty() && !is_wide {
            self.suspects(accepted, Round::All, which)
        } else {
            suspects
        }
    }

    /// The hosts that have a filter chain; those that were taken before come first.
    fn tls_suspects(&self, accepted: Option<&Publication>, round: Round) -> Vec<Suspect<Part>> {
        let new = accepted
            .map(|accepted| self.new_since(accepted))
            .unwrap_or_default();
        let is_base_new = !accepted.is_some_and(|accepted| has_base_of(self, accepted));
        let asked_for = self.config.tls.keys().cloned();
        let passed = self
            .config
            .passthrough
            .keys()
            .cloned()
            .map(ServerName::Exact);
        let names: BTreeSet<ServerName> = asked_for.chain(passed).collect();
        let is_new = |name: &ServerName| new.contains(name) || new.contains(&self.host_named(name));
        let (new, old): (Vec<ServerName>, Vec<ServerName>) = names.into_iter().partition(is_new);
        let is_wide = round != Round::New || is_base_new || new.is_empty();
        let mut seen = BTreeSet::new();
        let mut parts = |names: &[ServerName]| {
            let hosts = names.iter().map(|name| self.host_named(name));
            let hosts = hosts.filter(|host| seen.insert(host.clone()));
            self.by_namespace(hosts.map(|host| Part { host, owner: None }))
        };
        let mut suspects = if is_wide { parts(&old) } else { Vec::new() };
        suspects.extend(parts(&new));
        suspects
    }

    fn with_namespaces(&self, parts: impl IntoIterator<Item = Part>) -> Vec<Suspect<Part>> {
        let suspect = |item: Part| Suspect {
            namespace: self.namespace(&item),
            item,
        };
        parts.into_iter().map(suspect).collect()
    }

    /// The same, each namespace together: its culprits are found with fewer candidates.
    fn by_namespace(&self, parts: impl IntoIterator<Item = Part>) -> Vec<Suspect<Part>> {
        let mut suspects = self.with_namespaces(parts);
        suspects.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        suspects
    }

    /// Hosts that are not as they were.
    fn new_since(&self, accepted: &Publication) -> BTreeSet<ServerName> {
        let (now, before) = (&self.config, &accepted.config);
        let servers = changed(&before.servers, &now.servers).map(|host| host.name.clone());
        let tls = changed(&before.tls, &now.tls).map(|host| host.name.clone());
        let passed = changed(&before.passthrough, &now.passthrough)
            .map(|host| ServerName::Exact(host.name.clone()));
        let mut new: BTreeSet<ServerName> = servers.chain(tls).chain(passed).collect();
        if new.contains(&ServerName::CatchAll) {
            // Wildcard hosts have its routes, too.
            new.extend(now.servers.keys().filter(|name| !name.is_exact()).cloned());
        }
        new
    }
}

fn parts(
    publication: &Publication,
    host: &ServerName,
    server: &Arc<Server>,
    whole: bool,
) -> Vec<Part> {
    match whole {
        true => vec![Part {
            host: host.clone(),
            owner: None,
        }],
        false => publication.parts(host, server).collect(),
    }
}
