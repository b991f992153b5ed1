//! Quarantine: whatever a data plane rejects costs only its culprit.
//!
//! ```text
//!   snapshot --serve--> configuration --> accepted: what a culprit can fall back to
//!      ^                             \--> rejected: inquiry.rs tries candidates, beside all traffic
//!      |                                      \--> rejected parts are held back: --serve--> published again
//!      +-- an object changes: its parts are tried again       \-- the rest of a namespace with a few of them, too:
//!      +-- later, one candidate at a time: those are released ---/
//! ```
//!
//! - [`part`]: what one Ingress says about one host, the smallest unit that is held back.
//! - [`search`]: the parts of a configuration that are at fault.
//! - [`instead`]: substitutes for a part: its last accepted version, else 503.
//! - [`inquiry`]: the steps after a rejection.
//! - [`report`]: reports to the owners.

mod inquiry;
mod instead;
mod part;
mod report;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{BackendId, Config, GlobalConfig, HostTls, HttpRoute, Server, ServerName};
use sluice_translate::Snapshot;

pub use inquiry::{Aspect, Decided, Inquiry, InquiryOutcome, Rejections, Round, Step};
pub use part::{Part, Publication};
pub use report::of_resources;
pub use search::Reason;

/// Parts that are held back, and the configurations that were accepted.
#[derive(Debug, Default)]
pub struct Quarantine {
    held: BTreeMap<Part, Held>,
    /// Settings that every host depends on, at the time when the first part was held back.
    global: GlobalConfig,
    /// The settings of all hosts that were rejected, if no host was at fault.
    refused_global: Option<GlobalConfig>,
    /// Configuration that data planes accepted last.
    accepted: Option<Arc<Publication>>,
}

/// A part that was refused, or was not tried by itself.
#[derive(Debug)]
struct Held {
    content: Content,
    /// Configuration to fall back to.
    before: Option<Arc<Publication>>,
    reason: Reason,
}

/// The rejected content; another content is tried again.
#[derive(Debug, PartialEq)]
enum Content {
    Routes(Vec<HttpRoute>),
    Host(Whole),
}

/// All that there is of a host.
#[derive(Debug, PartialEq)]
struct Whole {
    server: Option<Arc<Server>>,
    tls: BTreeMap<ServerName, HostTls>,
    passthrough: BTreeMap<ServerName, BackendId>,
}

impl Quarantine {
    /// Configuration for data planes: everything but rejected parts. Parts that differ from their rejected version are included
    /// again.
    pub fn serve(&mut self, snapshot: &Arc<Snapshot>) -> Config {
        let mut config = snapshot.config().clone();
        if self.is_empty() {
            return config;
        }
        if self.global != config.global {
            self.held.clear();
        }
        if self
            .refused_global
            .as_ref()
            .is_some_and(|refused| *refused != config.global)
        {
            self.refused_global = None;
        }
        if let (Some(_), Some(accepted)) = (&self.refused_global, &self.accepted) {
            config.global = accepted.config.global.clone();
        }
        let now = Publication {
            config,
            snapshot: Arc::clone(snapshot),
        };
        self.held
            .retain(|part, held| content(&now, part).as_ref() == Some(&held.content));
        self.without_held(now)
    }

    fn without_held(&self, now: Publication) -> Config {
        let mut config = now.config.clone();
        let mut hosts: BTreeMap<&ServerName, Vec<(&Part, &Held)>> = BTreeMap::new();
        for (part, held) in &self.held {
            hosts.entry(&part.host).or_default().push((part, held));
        }
        for (host, held) in hosts {
            if let Some((_, whole)) = held.iter().find(|(part, _)| part.owner.is_none()) {
                instead::handshakes(host, &now, whole.before.as_deref(), &mut config);
            }
            let Some(server) = replacement(host, &now, &held) else {
                continue;
            };
            for before in held.iter().filter_map(|(_, held)| held.before.as_ref()) {
                instead::with_backends_of(before, &server, &mut config);
            }
            config.servers.insert(host.clone(), server);
        }
        config
    }

    /// True if nothing is held back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.refused_global.is_none()
    }

    /// Notes that data planes accepted a configuration.
    pub fn accept(&mut self, publication: Publication) {
        self.accepted = Some(Arc::new(publication));
    }

    /// Configuration that data planes accepted last.
    pub fn last_accepted(&self) -> Option<&Arc<Publication>> {
        self.accepted.as_ref()
    }

    /// Holds parts back.
    pub fn hold(
        &mut self,
        publication: &Publication,
        parts: impl IntoIterator<Item = (Part, Reason)>,
    ) {
        self.global = publication.snapshot.config().global.clone();
        let now = publication.as_translated();
        for (part, reason) in parts {
            let Some(content) = content(&now, &part) else {
                continue;
            };
            // What was refused is not tried by itself for being set aside with others: alone it may be accepted, again and again.
            let is_known =
                |held: &Held| matches!(held.reason, Reason::Refused(_)) && held.content == content;
            if matches!(reason, Reason::Namespace(_)) && self.held.get(&part).is_some_and(is_known)
            {
                continue;
            }
            // It may have been accepted while the data plane that rejects it was away.
            let is_other = |accepted: &Arc<Publication>| {
                accepted.has(&part) && self::content(accepted, &part).as_ref() != Some(&content)
            };
            let before = self.accepted.clone().filter(is_other);
            if part.owner.is_none() {
                // Of a host as a whole no part is held besides, which would stay when the host is mended.
                self.held.retain(|other, _| other.host != part.host);
            }
            self.held.insert(
                part,
                Held {
                    content,
                    before,
                    reason,
                },
            );
        }
    }

    /// These were not at fault.
    pub fn release(&mut self, parts: &[Part]) {
        parts.iter().for_each(|part| drop(self.held.remove(part)));
    }

    /// Parts that were set aside with their namespace, and have to be tried.
    pub fn set_aside(&self) -> BTreeMap<Arc<str>, Vec<Part>> {
        let mut namespaces: BTreeMap<Arc<str>, Vec<Part>> = BTreeMap::new();
        for (part, held) in &self.held {
            if let Reason::Namespace(namespace) = &held.reason {
                let parts = namespaces.entry(Arc::clone(namespace)).or_default();
                parts.push(part.clone());
            }
        }
        namespaces
    }

    /// Takes the decision about parts of `tried` that were set aside. It is about nothing else that is held: a part may have changed since, and
    /// be held anew. Returns how many are served now.
    pub fn decide(&mut self, tried: &Publication, decided: Decided) -> usize {
        for (part, message) in decided.refused {
            if let Some(held) = self.aside_as_tried(tried, &part) {
                held.reason = Reason::Refused(message);
            }
        }
        let held = self.held.len();
        for part in decided.accepted {
            if self.aside_as_tried(tried, &part).is_some() {
                self.held.remove(&part);
            }
        }
        held - self.held.len()
    }

    fn aside_as_tried(&mut self, tried: &Publication, part: &Part) -> Option<&mut Held> {
        let held = self.held.get_mut(part)?;
        let is_aside = matches!(held.reason, Reason::Namespace(_));
        (is_aside && content(tried, part).as_ref() == Some(&held.content)).then_some(held)
    }

    /// Holds whole hosts in the place of parts of them, where the parts did not suffice: settings of the host are refused. Only hosts of one
    /// namespace; no other has to answer for it. Returns the hosts.
    pub fn widen(&mut self, publication: &Publication, parts: &[Part]) -> Vec<Part> {
        let now = publication.as_translated();
        let mut hosts: BTreeMap<Part, Reason> = BTreeMap::new();
        for part in parts.iter().filter(|part| part.owner.is_some()) {
            let is_own = || now.namespaces(&part.host).len() == 1;
            let Some(held) = self.held.get(part) else {
                continue;
            };
            if now.has_settings(&part.host) && is_own() {
                let host = part.host.clone();
                hosts.insert(Part { host, owner: None }, held.reason.clone());
            }
        }
        let parts = hosts.keys().cloned().collect();
        self.hold(publication, hosts);
        parts
    }

    /// Holds the settings of all hosts back. False if no others were accepted before.
    pub fn hold_global(&mut self, publication: &Publication) -> bool {
        let global = &publication.snapshot.config().global;
        let other = self
            .accepted
            .as_ref()
            .is_some_and(|accepted| accepted.config.global != *global);
        if other {
            self.refused_global = Some(global.clone());
        }
        other
    }
}

fn content(now: &Publication, part: &Part) -> Option<Content> {
    let server = now.config.servers.get(&part.host);
    let Some(owner) = &part.owner else {
        return whole(now, &part.host).map(Content::Host);
    };
    let server = server?;
    let own = server
        .routes
        .iter()
        .filter(|route| now.owner(&route.id) == Some(owner));
    let own: Vec<HttpRoute> = own.cloned().collect();
    (!own.is_empty()).then_some(Content::Routes(own))
}

fn whole(now: &Publication, host: &ServerName) -> Option<Whole> {
    let (names, all) = (now.names(host), &now.config);
    let passed = |name: &ServerName| match name {
        ServerName::Exact(own) => Some((name.clone(), all.passthrough.get(own)?.clone())),
        ServerName::Wildcard(_) | ServerName::CatchAll => None,
    };
    let tls: BTreeMap<_, _> = names
        .iter()
        .filter_map(|name| Some((name.clone(), all.tls.get(name)?.clone())))
        .collect();
    let passthrough: BTreeMap<_, _> = names.iter().filter_map(passed).collect();
    let server = all.servers.get(host).cloned();
    let is_there = server.is_some() || !tls.is_empty() || !passthrough.is_empty();
    is_there.then_some(Whole {
        server,
        tls,
        passthrough,
    })
}

fn replacement(
    host: &ServerName,
    now: &Publication,
    held: &[(&Part, &Held)],
) -> Option<Arc<Server>> {
    if let Some((_, whole)) = held.iter().find(|(part, _)| part.owner.is_none()) {
        let before = whole.before.as_ref();
        let was = before.and_then(|before| before.config.servers.get(host));
        let Some(server) = now.config.servers.get(host) else {
            return was.cloned();
        };
        let was = was.filter(|was| instead::is_guarded_as(was, server));
        let closed = || Arc::new(instead::closed_host(host, server));
        return Some(was.cloned().unwrap_or_else(closed));
    }
    let refused = held.iter().filter_map(|(part, held)| {
        Some(instead::Culprit {
            owner: part.owner.as_ref()?,
            before: held.before.as_deref(),
        })
    });
    instead::replaced(host, now, &refused.collect::<Vec<_>>())
}
