//! Canaries: Ingresses that are a second backend of another one's.
//!
//! A canary makes no host and no path. Its host, path and type only say which backend it is the second of; it then is
//! that for every path that leads there. A backend may have several: the filter asks the headers of each, then the cookies
//! of each, and then draws one by the weights of all.

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{Action, BackendId, Canary, CanaryRules, ServerName};

use super::Assembly;
use super::claim::Author;
use crate::backends::Rank;
use crate::path::{self, PathType};
use crate::report::Reporter;
use crate::{ObjectRef, Report, Severity};

/// More canaries of one backend than this, the filter does not tell apart.
const MOST: usize = 64;

/// A canary that waits until all the others are known.
#[derive(Debug)]
pub(super) struct Candidate {
    host: ServerName,
    path: String,
    kind: PathType,
    author: Author,
    field: String,
    backend: BackendId,
    rules: CanaryRules,
    rank: Rank,
}

/// A canary for a port of a Service, and who has written it where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) main: BackendId,
    canary: Canary,
    object: ObjectRef,
    field: String,
}

impl Assembly<'_> {
    pub(super) fn add_canary(&mut self, ingress: &Ingress, author: &Author, rules: &CanaryRules) {
        if author.annotations.denied {
            return;
        }
        let rules_of_ingress =
            ingress.spec.as_ref().and_then(|spec| spec.rules.as_deref()).unwrap_or_default();
        for (position, rule) in rules_of_ingress.iter().enumerate() {
            let Ok(host) = ServerName::parse(rule.host.as_deref().unwrap_or_default()) else { continue };
            let paths = rule.http.as_ref().map(|http| http.paths.as_slice()).unwrap_or_default();
            for (number, path) in paths.iter().enumerate() {
                let field = format!("spec.rules[{position}].http.paths[{number}]");
                let (Ok(text), Ok(kind)) =
                    (path::checked(path.path.as_deref()), PathType::parse(&path.path_type))
                else {
                    continue;
                };
                let place = format!("{field}.backend");
                let Some((service, port)) = self.service_of(&path.backend, author, &place) else { continue };
                let transport = author.annotations.backend.transport.clone();
                let backend = self.backend(service, port, &transport, author, format!("{place}.service"));
                let (host, path) = (host.clone(), text.to_owned());
                let (author, rules, rank) = (author.clone(), rules.clone(), self.uses.rank());
                self.canaries.push(Candidate { host, path, kind, author, field, backend, rules, rank });
            }
        }
    }

    /// The canaries that are offered to backends; what is wrong with one by itself is reported.
    pub(super) fn offers(&mut self) -> Vec<(Rank, Offer)> {
        let mut offers = Vec::new();
        for candidate in std::mem::take(&mut self.canaries) {
            let Candidate { author, field, backend, rules, rank, .. } = &candidate;
            match self.main_of(&candidate) {
                Ok(main) => {
                    let sticky = author.annotations.backend.canary_is_sticky;
                    let canary = Canary { backend: backend.clone(), rules: rules.clone(), sticky };
                    let (object, field) = (author.object.clone(), field.clone());
                    offers.push((rank.clone(), Offer { main, canary, object, field }));
                }
                Err(reason) => {
                    self.report(&author.object).say(Severity::Warning, field, reason, "canary not used");
                }
            }
        }
        offers
    }

    fn main_of(&self, candidate: &Candidate) -> Result<BackendId, &'static str> {
        let Candidate { host, path, kind, author, backend, .. } = candidate;
        let claim = self.drafts.get(host).and_then(|draft| draft.claim(path, *kind));
        let claim = claim.ok_or("expected a host and a path of another Ingress, got one that nobody has")?;
        let Action::Forward(main) = &claim.lead.action else {
            return Err("expected a path that leads to pods, got one that does not");
        };
        // Who shares a host with others must not take their requests (R12 of the security rules).
        if claim.owner.key.namespace != author.object.key.namespace {
            return Err("expected a path of its own namespace, got one of another");
        }
        let main = main.service_port();
        if main == backend.service_port() {
            return Err("expected another backend than that of the path, got the same");
        }
        Ok(main)
    }
}

/// The canaries of one port, in the order of their Ingresses, and what is wrong with them together.
pub(crate) fn settle<'a>(offers: impl Iterator<Item = &'a Offer>) -> (Vec<Canary>, Vec<Report>) {
    let (mut canaries, mut reports) = (Vec::new(), Vec::new());
    for Offer { canary, object, field, .. } in offers {
        if let Err((reason, consequence)) = add(&mut canaries, canary.clone()) {
            let mut reporter = Reporter::new(object.clone(), &mut reports);
            reporter.say(Severity::Warning, field, reason, consequence);
        }
    }
    (canaries, reports)
}

/// Adds one more canary of a backend, unless it is there: an Ingress may name it on every path of that backend. An error
/// is what is wrong and what happens instead.
fn add(canaries: &mut Vec<Canary>, canary: Canary) -> Result<(), (&'static str, &'static str)> {
    if canaries.contains(&canary) {
        return Ok(());
    }
    if canaries.len() == MOST {
        return Err(("expected at most 64 canaries of one backend, got more", "canary not used"));
    }
    let share = |canary: &Canary| f64::from(canary.rules.weight) / f64::from(canary.rules.total.max(1));
    let taken: f64 = canaries.iter().map(share).sum();
    // A little more than everything is rounding.
    let is_cut = canary.rules.weight > 0 && taken + share(&canary) > 1.0 + 1e-9;
    canaries.push(canary);
    match is_cut {
        true => Err((
            "expected weights of all canaries of one backend that are together no more than everything, got more",
            "weight cut to what older canaries leave",
        )),
        false => Ok(()),
    }
}
