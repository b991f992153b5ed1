//! Hosts whose TLS ends at the pods: `ssl-passthrough`.
//!
//! As in ingress-nginx any Ingress of a host turns it on, connections go to the Service of the path `/`, whatever other paths
//! and annotations say, and plain http is served as ever. Other than there, an Ingress of another namespace than the path's
//! does not.

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use sluice_ir::{Access, Action, BackendId, Hostname, ServerName, Transport};

use super::Assembly;
use super::claim::{Author, Claim};
use super::draft::Draft;
use crate::ObjectRef;
use crate::annotations::Annotations;
use crate::backends::{Named, Terms, Use, Uses};
use crate::path::PathType;
use crate::report::Reporter;
use crate::{Report, Severity};

const FIELD: &str = "annotation ssl-passthrough";
const ENDS_HERE: &str = "TLS of this host ends at the data plane";

impl Assembly<'_> {
    /// Notes that an Ingress asks for it.
    pub(super) fn take_passthrough(&mut self, name: &ServerName, author: &Author) {
        if !author.annotations.host.passthrough {
            return;
        }
        if !name.is_exact() {
            let reason = format!("expected a host without a wildcard, got {:?}", name.to_string());
            self.report(&author.object).warn_as_before(FIELD, reason, ENDS_HERE);
            return;
        }
        self.drafts.entry(name.clone()).or_default().passthrough.push(author.object.clone());
    }

    /// Where the TLS connections of hosts go that do not end here.
    pub(super) fn passthrough(&mut self) -> BTreeMap<Hostname, BackendId> {
        let Assembly { drafts, uses, reports, globals, .. } = self;
        let usual = &globals.transport;
        drafts.iter().filter_map(|(name, draft)| of(name, draft, (&mut *uses, usual), reports)).collect()
    }
}

/// Where the TLS connections of a host go, if they go on.
fn of(
    name: &ServerName,
    draft: &Draft,
    (uses, usual): (&mut Uses, &Transport),
    reports: &mut Vec<Report>,
) -> Option<(Hostname, BackendId)> {
    let ServerName::Exact(host) = name else { return None };
    if draft.passthrough.is_empty() {
        return None;
    }
    let root = draft.claim("/", PathType::Prefix).or_else(|| draft.claim("/", PathType::Exact));
    let Some((claim, id)) = root.or(draft.default.as_ref()).and_then(|claim| Some((claim, leads(claim)?)))
    else {
        let reason =
            format!("expected a path / of {host} that leads to a Service, got none", host = host.as_str());
        for object in &draft.passthrough {
            Reporter::new(object.clone(), reports).warn_as_before(FIELD, reason.clone(), ENDS_HERE);
        }
        return None;
    };
    let is_owner = |object: &ObjectRef| object.key.namespace == claim.owner.key.namespace;
    for object in draft.passthrough.iter().filter(|object| !is_owner(object)) {
        let owner = &claim.owner;
        let reason = format!("expected an Ingress of the namespace that has the path /, which is of {owner}");
        Reporter::new(object.clone(), reports).say(Severity::Warning, FIELD, reason, "annotation ignored");
    }
    if !draft.passthrough.iter().any(is_owner) {
        return None;
    }
    say_unguarded(claim, reports);
    Some((host.clone(), plain(id, claim, uses, usual)?))
}

/// Its owner should know, though it is so in ingress-nginx, too.
fn say_unguarded(claim: &Claim, reports: &mut Vec<Report>) {
    let Annotations { policy, clients, .. } = claim.annotations.as_ref();
    if policy.access != Access::default() || policy.guard.is_some() || clients.is_some() {
        let reason = "expected nothing that guards access, got an Ingress that does";
        let consequence = "only plain http is guarded: nobody reads what is said over TLS";
        Reporter::new(claim.owner.clone(), reports).warn_as_before(FIELD, reason, consequence);
    }
}

fn leads(claim: &Claim) -> Option<&BackendId> {
    match &claim.lead.action {
        Action::Forward(id) => Some(id),
        Action::Denied | Action::Redirect(_) => None,
    }
}

/// The same pods, spoken to without TLS and without HTTP.
fn plain(id: &BackendId, claim: &Claim, uses: &mut Uses, usual: &Transport) -> Option<BackendId> {
    let is_it = |named: &&Named| named.id == *id && named.usage.object == claim.owner;
    let Named { origin, balance, usage, .. } = uses.named.iter().map(|(_, named)| named).find(is_it)?.clone();
    let terms = Terms { transport: usual, balance: &balance, attempts: NonZeroU8::MIN, routes: true };
    Some(uses.name(origin, terms, Use { as_canary: false, ..usage }))
}
