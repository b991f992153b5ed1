//! Canaries: Ingresses that are a second backend of another one's.
//!
//! A canary makes no host and no path. Its host, path and type only say which backend it is the second of; it then is
//! that for every path that leads there. The first canary of a backend is its only one.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{Action, BackendId, Canary, CanaryRules, Location, ServerName};

use super::Assembly;
use super::claim::Author;
use crate::Severity;
use crate::path::{self, PathType};

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

    /// The canary of each backend that has one.
    pub(super) fn canaries_by_backend(&mut self) -> BTreeMap<BackendId, Canary> {
        let mut by_backend: BTreeMap<BackendId, Canary> = BTreeMap::new();
        for candidate in std::mem::take(&mut self.canaries) {
            let Candidate { author, field, backend, rules, .. } = &candidate;
            match self.main_of(&candidate) {
                Ok(main) if by_backend.contains_key(&main) => {
                    let reason = "expected to be the only canary of its backend, got an older one before";
                    self.report(&author.object).say(Severity::Warning, field, reason, "canary not used");
                }
                Ok(main) => {
                    let sticky = author.annotations.backend.canary_is_sticky;
                    by_backend
                        .insert(main, Canary { backend: backend.clone(), rules: rules.clone(), sticky });
                }
                Err(reason) => {
                    self.report(&author.object).say(Severity::Warning, field, reason, "canary not used");
                }
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

/// Gives a location the canary of its backend.
pub(super) fn attach(location: &mut Location, canaries: &BTreeMap<BackendId, Canary>) {
    if let Action::Forward(main) = &location.action {
        location.canaries.extend(canaries.get(&main.service_port()).cloned());
    }
}
