//! What becomes of a backend that several Ingresses name, and of canaries that several offer it: the only things that
//! Ingresses of different hosts decide together.
//!
//! Whatever is said about one port of a Service, however its pods are spoken to, stands on one page. When somebody says
//! something else, only that page is settled again.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{BackendId, Canary};

use crate::backends::{Authority, Named, Origin, Rank, Source};
use crate::servers::{Offer, settle};
use crate::{ObjectKey, Report};

/// Everything that is said about backends, by port of a Service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pages: BTreeMap<BackendId, Page>,
    /// In order.
    by_service: BTreeMap<ObjectKey, Vec<BackendId>>,
    /// Pages on which something has changed since they were settled.
    open: BTreeSet<BackendId>,
}

/// What is said about one port of a Service, and what it comes to.
#[derive(Clone, Debug, Default)]
struct Page {
    // Boxed, or no map: most pages have one entry, and a map has room for eleven.
    named: BTreeMap<Rank, Box<Named>>,
    offers: BTreeMap<Rank, Box<Offer>>,
    sources: Box<[(BackendId, Source)]>,
    canaries: Vec<Canary>,
    reports: Vec<Report>,
}

/// What settling a page has changed.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Backends that are made from something else than before, or from nothing.
    pub(crate) backends: BTreeSet<BackendId>,
    /// Ports whose canaries are others.
    pub(crate) canaries: BTreeSet<BackendId>,
}

impl Ledger {
    pub(crate) fn name(&mut self, rank: Rank, named: Named) {
        let port = named.id.service_port();
        self.page(&port).named.insert(rank, Box::new(named));
    }

    /// A canary is offered to a port.
    pub(crate) fn offer(&mut self, rank: Rank, offer: Offer) {
        let main = offer.main.clone();
        self.page(&main).offers.insert(rank, Box::new(offer));
    }

    /// Takes back what was said about a port at some rank.
    pub(crate) fn withdraw(&mut self, port: &BackendId, rank: &Rank) {
        let page = self.page(port);
        page.named.remove(rank);
        page.offers.remove(rank);
    }

    /// Settles every page on which something has changed.
    pub(crate) fn settle(&mut self) -> Settled {
        let mut settled = Settled::default();
        for port in std::mem::take(&mut self.open) {
            let Some(page) = self.pages.get_mut(&port) else { continue };
            let before = std::mem::replace(&mut page.sources, sources(&page.named));
            let (canaries, reports) = settle(page.offers.values().map(AsRef::as_ref));
            page.reports = reports;
            if std::mem::replace(&mut page.canaries, canaries) != page.canaries {
                settled.canaries.insert(port.clone());
            }
            let now = &page.sources;
            let ids = before.iter().chain(now).map(|(id, _)| id);
            let changed: Vec<BackendId> =
                ids.filter(|id| source(&before, id) != source(now, id)).cloned().collect();
            for id in &changed {
                self.note_service(id, &port, &before);
            }
            settled.backends.extend(changed);
            if self.pages.get(&port).is_some_and(Page::is_empty) {
                self.pages.remove(&port);
            }
        }
        settled
    }

    /// What a backend is made from.
    pub(crate) fn source(&self, id: &BackendId) -> Option<&Source> {
        source(&self.pages.get(&id.service_port())?.sources, id)
    }

    /// The canaries of a port.
    pub(crate) fn canaries(&self, port: &BackendId) -> &[Canary] {
        self.pages.get(port).map(|page| page.canaries.as_slice()).unwrap_or_default()
    }

    /// What is wrong with canaries together.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.pages.values().flat_map(|page| &page.reports)
    }

    /// The backends that a Service stands behind.
    pub(crate) fn of_service(&self, service: &ObjectKey) -> impl Iterator<Item = &BackendId> {
        self.by_service.get(service).into_iter().flatten()
    }

    fn page(&mut self, port: &BackendId) -> &mut Page {
        self.open.insert(port.clone());
        self.pages.entry(port.clone()).or_default()
    }

    /// A backend has come, changed or gone.
    fn note_service(&mut self, id: &BackendId, port: &BackendId, before: &[(BackendId, Source)]) {
        let service = |source: Option<&Source>| match source.map(|source| &source.origin) {
            Some(Origin::Service(service, _)) => Some(service.clone()),
            Some(Origin::Outside(_)) | None => None,
        };
        let now = self.pages.get(port).and_then(|page| source(&page.sources, id));
        let (old, new) = (service(source(before, id)), service(now));
        if let Some(old) = old {
            let of_service = self.by_service.entry(old.clone()).or_default();
            of_service.retain(|other| other != id);
            if of_service.is_empty() {
                self.by_service.remove(&old);
            }
        }
        if let Some(new) = new {
            let of_service = self.by_service.entry(new).or_default();
            if let Err(place) = of_service.binary_search(id) {
                of_service.insert(place, id.clone());
            }
        }
    }
}

impl Page {
    fn is_empty(&self) -> bool {
        self.named.is_empty() && self.offers.is_empty()
    }
}

fn source<'a>(sources: &'a [(BackendId, Source)], id: &BackendId) -> Option<&'a Source> {
    sources.iter().find(|(other, _)| other == id).map(|(_, source)| source)
}

/// Whoever speaks to the pods, and how: of those with the highest authority the first decides how they are chosen, and the
/// first that asks for sessions has them.
fn sources(named: &BTreeMap<Rank, Box<Named>>) -> Box<[(BackendId, Source)]> {
    let Some(first) = named.values().min_by_key(|named| named.authority) else { return Box::default() };
    let mut balance = first.balance.clone();
    let mut peers = named.values().filter(|named| named.authority == first.authority);
    balance.affinity = peers.find_map(|named| named.balance.affinity.clone());
    let mut sources: BTreeMap<BackendId, (Authority, Source)> = BTreeMap::new();
    for Named { id, origin, transport, attempts, usage, authority, .. } in named.values().map(AsRef::as_ref) {
        let new = || {
            let (origin, balance, transport) = (origin.clone(), balance.clone(), transport.clone());
            (*authority, Source { origin, balance, transport, attempts: *attempts, uses: Vec::new() })
        };
        let (highest, source) = sources.entry(id.clone()).or_insert_with(new);
        match (*authority).cmp(highest) {
            Ordering::Less => (*highest, source.attempts) = (*authority, *attempts),
            Ordering::Equal => source.attempts = source.attempts.max(*attempts),
            Ordering::Greater => {}
        }
        source.uses.push(usage.clone());
    }
    sources.into_iter().map(|(id, (_, source))| (id, source)).collect()
}
