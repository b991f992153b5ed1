//! Canaries: Ingresses that are a second backend of another one's.
//!
//! A canary makes no host and no path. Its host, path and type only say which backend it is the second of; it then is
//! that for every path that leads there. A backend may have several: the filter asks the headers of each, then the cookies
//! of each, and then draws one by the weights of all.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{Action, BackendId, Canary, CanaryRules, Location, ServerName};

use super::Assembly;
use super::claim::Author;
use crate::Severity;
use crate::path::{self, PathType};

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
                let (path, author, rules) = (text.to_owned(), author.clone(), rules.clone());
                self.canaries.push(Candidate {
                    host: host.clone(),
                    path,
                    kind,
                    author,
                    field,
                    backend,
                    rules,
                });
            }
        }
    }

    /// The canaries of each backend that has any, in the order of their Ingresses.
    pub(super) fn canaries_by_backend(&mut self) -> BTreeMap<BackendId, Vec<Canary>> {
        let mut by_backend: BTreeMap<BackendId, Vec<Canary>> = BTreeMap::new();
        for candidate in std::mem::take(&mut self.canaries) {
            let Candidate { author, field, backend, rules, .. } = &candidate;
            let complaint = match self.main_of(&candidate) {
                Ok(main) => {
                    let sticky = author.annotations.backend.canary_is_sticky;
                    let canary = Canary { backend: backend.clone(), rules: rules.clone(), sticky };
                    add(by_backend.entry(main).or_default(), canary).err()
                }
                Err(reason) => Some((reason, "canary not used")),
            };
            if let Some((reason, consequence)) = complaint {
                self.report(&author.object).say(Severity::Warning, field, reason, consequence);
            }
        }
        by_backend
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

/// Gives a location the canaries of its backend.
pub(super) fn attach(location: &mut Location, canaries: &BTreeMap<BackendId, Vec<Canary>>) {
    if let Action::Forward(main) = &location.action {
        location.canaries.extend(canaries.get(&main.service_port()).into_iter().flatten().cloned());
    }
}
