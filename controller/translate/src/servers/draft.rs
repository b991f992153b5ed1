//! A server while it grows, and what it grows into.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{
    Action, BackendId, ClientCertificates, HostTls, Hostname, Location, LocationId, PathMatch, Redirect,
    RedirectTo, Server, ServerName,
};

use super::claim::{Claim, HostFacts, Lead};
use super::patterns;
use super::{ErrorService, Owners};
use crate::global::Globals;
use crate::path::{self, PathType};
use crate::report::Reporter;
use crate::{Report, Severity};

/// What a draft grows into.
pub(super) struct Finished {
    pub(super) server: Server,
    pub(super) owners: Owners,
    pub(super) error_services: BTreeMap<LocationId, ErrorService>,
}

/// A location, and the claim that it comes from if it comes from one.
pub(super) type Claimed<'a> = (Location, Option<&'a Claim>);

/// What the Ingresses of one host have asked for.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// In the order in which they were made.
    pub(super) claims: Vec<Claim>,
    /// Where unmatched paths go; without one they are 404.
    pub(super) default: Option<Claim>,
    /// Decided by the first Ingress of the host that has a `tls` section.
    pub(super) tls: Option<HostTls>,
    /// Of the first Ingress of the host that asks clients for certificates.
    pub(super) clients: Option<ClientCertificates>,
    pub(super) app_root: Option<String>,
    pub(super) from_to_www: bool,
    pub(super) ciphers: Vec<String>,
    pub(super) prefers_its_ciphers: Option<bool>,
}

impl Draft {
    pub(super) fn claim(&self, path: &str, kind: PathType) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.path == path && claim.kind == kind)
    }

    pub(super) fn finish(
        self,
        name: &ServerName,
        fallback: Option<&BackendId>,
        globals: &Globals,
        reports: &mut Vec<Report>,
    ) -> Finished {
        let has_certificate = self.tls.is_some() && *name != ServerName::CatchAll;
        let host = HostFacts { has_certificate, error_service: fallback, globals };
        let has_root = self.claim("/", PathType::Prefix).is_some();
        let Draft { mut claims, default, app_root, clients, ciphers, prefers_its_ciphers, .. } = self;
        let has_patterns = claims.iter().any(Claim::is_pattern);
        let mut root = None;
        if !has_root {
            match default {
                Some(default) => claims.push(default),
                // Nobody's: no annotation of a tenant holds for it.
                None => root = fallback.map(|backend| location_of_nobody(name, backend, has_patterns)),
            }
        }
        let locations = if has_patterns {
            patterns::locations(&claims, name, host, reports)
        } else {
            literal(&claims, name, host, reports)
        };
        let claimed = || locations.iter().filter_map(|(location, claim)| Some((&location.id, (*claim)?)));
        let owners = claimed().map(|(id, claim)| (id.clone(), claim.owner.key.clone())).collect();
        let error_services = claimed().filter_map(|(id, claim)| {
            let Lead { error_service, place, .. } = claim.lead.clone();
            Some((id.clone(), ErrorService { backend: error_service?, next: fallback.cloned(), place }))
        });
        let error_services = error_services.collect();
        let locations = locations.into_iter().map(|(location, _)| location).chain(root).collect();
        let aliases = Vec::new();
        let server = Server { aliases, clients, app_root, ciphers, prefers_its_ciphers, locations };
        Finished { server, owners, error_services }
    }
}

fn location_of_nobody(name: &ServerName, backend: &BackendId, has_patterns: bool) -> Location {
    let root = if has_patterns { patterns::everything() } else { PathMatch::Prefix("/".to_owned()) };
    Location::new(name, root, Action::Forward(backend.clone()), Arc::default())
}

/// Exact paths first, then prefixes, the longest first; each takes the paths that it names.
fn literal<'a>(
    claims: &'a [Claim],
    name: &ServerName,
    host: HostFacts<'_>,
    reports: &mut Vec<Report>,
) -> Vec<Claimed<'a>> {
    let mut by_path: BTreeMap<PathMatch, &Claim> = BTreeMap::new();
    for claim in claims {
        if let Err(reason) = path::literal(&claim.path) {
            let mut reporter = Reporter::new(claim.owner.clone(), reports);
            reporter.say(Severity::Error, claim.field.clone(), reason, "path not served");
            continue;
        }
        let path = match claim.kind {
            PathType::Exact => PathMatch::Exact(claim.path.clone()),
            PathType::Prefix => PathMatch::Prefix(claim.path.clone()),
        };
        by_path.entry(path).or_insert(claim);
    }
    let bare = bare_forms(&by_path);
    let bare = bare.into_iter().map(|(path, to)| {
        let redirect = Redirect { status: 301, to: RedirectTo::Path(to) };
        (Location::new(name, PathMatch::Exact(path), Action::Redirect(redirect), Arc::default()), None)
    });
    let claimed =
        by_path.iter().map(|(path, claim)| (claim.location(name, path.clone(), &host), Some(*claim)));
    let mut locations: Vec<Claimed<'_>> = claimed.chain(bare).collect();
    locations.sort_by(|(a, _), (b, _)| precedence(&a.path).cmp(&precedence(&b.path)));
    locations
}

/// A path with a trailing slash takes its bare form along, as nginx does: `/docs` leads to `/docs/`.
fn bare_forms(by_path: &BTreeMap<PathMatch, &Claim>) -> BTreeMap<String, String> {
    let slashed = by_path.keys().filter_map(|path| {
        let bare = path.text().strip_suffix('/').filter(|bare| !bare.is_empty())?;
        let taken = by_path.contains_key(&PathMatch::Prefix(bare.to_owned()))
            || by_path.contains_key(&PathMatch::Exact(bare.to_owned()));
        (!taken).then(|| (bare.to_owned(), path.text().to_owned()))
    });
    slashed.collect()
}

fn precedence(path: &PathMatch) -> (bool, Reverse<usize>, &str) {
    let text = path.text();
    (!matches!(path, PathMatch::Exact(_)), Reverse(text.len()), text)
}

/// A host with `www.`, or without it.
pub(super) fn other_name(name: &ServerName) -> Option<ServerName> {
    let ServerName::Exact(host) = name else { return None };
    let other = match host.as_str().strip_prefix("www.") {
        Some(bare) => Hostname::parse(bare),
        None => Hostname::parse(&format!("www.{}", host.as_str())),
    };
    other.ok().map(ServerName::Exact)
}

/// The other name of a host, which leads to the host.
pub(super) fn counterpart(name: &ServerName, globals: &Globals) -> Option<(ServerName, Server)> {
    let (ServerName::Exact(host), other) = (name, other_name(name)?) else { return None };
    let redirect = Redirect { status: globals.redirect_status, to: RedirectTo::Host(host.clone()) };
    let root = PathMatch::Prefix("/".to_owned());
    let location = Location::new(&other, root, Action::Redirect(redirect), Arc::default());
    Some((other, Server { locations: vec![location], ..Server::default() }))
}
