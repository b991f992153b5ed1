//! Registry of backends that several objects name, and of the candidates for their canaries: the only things that
//! Objects of different hosts decide together.
//!
//! Whatever is said about one port of a Service, however its pods are spoken to, is one entry. When an Ingress says
//! something else, only that entry is resolved again, and those of the ports that are canaries of it: they are spoken to in the
//! same ways.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{BackendId, Canary, Transport};

use crate::backends::{
    Authority, BackendRef, BackendSource, Balance, ReferencePrecedence, Source, Spoken, Traffic,
};
use crate::canaries::{CanaryCandidate, resolve_canaries};
use crate::few::Few;
use crate::ids::{with_transport_of, without_variant};
use crate::{ObjectKey, Report};

/// All settings of backends, by port of a Service.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackendRegistry {
    entries: BTreeMap<BackendId, Entry>,
    by_service: BTreeMap<ObjectKey, Few<BackendId, ()>>,
    /// Entries that have changed since they were resolved.
    open: BTreeSet<BackendId>,
    /// Those of the last reference: most references say the same.
    last_balance: Arc<Balance>,
    last_transport: Arc<Transport>,
}

/// References to one port of a Service, and what they resolve to.
#[derive(Clone, Debug, Default)]
struct Entry {
    // Boxed: of a Service that many Ingresses name, they move.
    backend_refs: Few<ReferencePrecedence, Box<BackendRef>>,
    canary_candidates: Few<ReferencePrecedence, Box<CanaryCandidate>>,
    /// In the order of their ids.
    sources: Box<[(BackendId, Source)]>,
    canaries: Vec<Canary>,
    /// Ports that it is a canary of.
    mains: Few<BackendId, ()>,
    reports: Vec<Report>,
}

/// Backends and canaries that resolving the entries has changed.
#[derive(Debug, Default)]
pub(crate) struct EntryChanges {
    /// Backends that are made from something else than before, or from nothing.
    pub(crate) backends: BTreeSet<BackendId>,
    /// Ports whose canaries are others.
    pub(crate) canaries: BTreeSet<BackendId>,
}

impl BackendRegistry {
    pub(crate) fn add_ref(&mut self, precedence: ReferencePrecedence, mut backend_ref: BackendRef) {
        share(&mut self.last_balance, &mut backend_ref.balance);
        if let Some(spoken) = &mut backend_ref.spoken {
            share(&mut self.last_transport, &mut spoken.transport);
        }
        let port = without_variant(&backend_ref.id);
        self.entry(&port)
            .backend_refs
            .insert(precedence, Box::new(backend_ref));
    }

    /// Adds a candidate for a canary of a port.
    pub(crate) fn add_candidate(
        &mut self,
        precedence: ReferencePrecedence,
        candidate: CanaryCandidate,
    ) {
        let main = candidate.main.clone();
        self.entry(&main)
            .canary_candidates
            .insert(precedence, Box::new(candidate));
    }

    /// Removes the reference or candidate with this precedence from a port.
    pub(crate) fn withdraw(&mut self, port: &BackendId, precedence: &ReferencePrecedence) {
        let entry = self.entry(port);
        entry.backend_refs.remove(precedence);
        entry.canary_candidates.remove(precedence);
    }

    /// Resolves every entry that has changed.
    pub(crate) fn resolve(&mut self) -> EntryChanges {
        let mut changes = EntryChanges::default();
        let mut open = std::mem::take(&mut self.open);
        for port in open.clone() {
            open.extend(self.resolve_canaries(&port, &mut changes));
        }
        for port in open {
            self.resolve_sources(&port, &mut changes);
        }
        changes
    }

    /// Resolves the canaries of a port. Returns the ports that are or were canaries of it.
    fn resolve_canaries(
        &mut self,
        port: &BackendId,
        changes: &mut EntryChanges,
    ) -> BTreeSet<BackendId> {
        let Some(entry) = self.entries.get_mut(port) else {
            return BTreeSet::new();
        };
        let candidates = entry.canary_candidates.values().map(AsRef::as_ref);
        let (canaries, reports) = resolve_canaries(candidates);
        entry.reports = reports;
        let before = std::mem::replace(&mut entry.canaries, canaries);
        if before != entry.canaries {
            changes.canaries.insert(port.clone());
        }
        let (before, now) = (ports(&before), ports(&entry.canaries));
        for canary in before.difference(&now) {
            if let Some(entry) = self.entries.get_mut(canary) {
                entry.mains.remove(port);
            }
        }
        for canary in &now {
            if let Some(entry) = self.entries.get_mut(canary) {
                entry.mains.insert(port.clone(), ());
            }
        }
        before.union(&now).cloned().collect()
    }

    /// Resolves the backends of a port.
    fn resolve_sources(&mut self, port: &BackendId, changes: &mut EntryChanges) {
        let inherited = self.inherited(port);
        let Some(entry) = self.entries.get_mut(port) else {
            return;
        };
        let now = sources(&entry.backend_refs, &inherited);
        let before = std::mem::replace(&mut entry.sources, now);
        let now = &entry.sources;
        let ids = before.iter().chain(now).map(|(id, _)| id);
        let changed: Vec<BackendId> = ids
            .filter(|id| source(&before, id) != source(now, id))
            .cloned()
            .collect();
        for id in &changed {
            self.note_service(id, port, &before);
        }
        changes.backends.extend(changed);
        if self.entries.get(port).is_some_and(Entry::is_empty) {
            self.entries.remove(port);
        }
    }

    /// The backends that a port needs as a canary: one for each way in which routes speak to the ports that it is a canary of.
    fn inherited(&self, port: &BackendId) -> BTreeMap<BackendId, Spoken> {
        let mut all = BTreeMap::new();
        let mains = self.entries.get(port).map(|entry| entry.mains.keys());
        let mains = mains.into_iter().flatten();
        for main in mains.filter_map(|main| self.entries.get(main)) {
            let refs = main.backend_refs.values();
            let led = refs.filter(|it| it.traffic == Traffic::Routes && it.spoken.is_some());
            let led: BTreeSet<&BackendId> = led.map(|backend_ref| &backend_ref.id).collect();
            // A canary of a canary gets nothing, so what that inherits does not count.
            for (id, Source { spoken, .. }) in sources(&main.backend_refs, &BTreeMap::new()) {
                if led.contains(&id) {
                    let attempts = spoken.attempts;
                    let inherited = all.entry(with_transport_of(port, &id)).or_insert(spoken);
                    inherited.attempts = inherited.attempts.max(attempts);
                }
            }
        }
        all
    }

    /// The source that a backend is made from.
    pub(crate) fn source(&self, id: &BackendId) -> Option<&Source> {
        source(&self.entries.get(&without_variant(id))?.sources, id)
    }

    /// The canaries of a port.
    pub(crate) fn canaries(&self, port: &BackendId) -> &[Canary] {
        self.entries
            .get(port)
            .map(|entry| entry.canaries.as_slice())
            .unwrap_or_default()
    }

    /// Candidates, with the objects that they are from.
    pub(crate) fn canary_owners(&self) -> impl Iterator<Item = (ObjectKey, Canary)> {
        let candidates = self.entries.values();
        let candidates = candidates.flat_map(|entry| entry.canary_candidates.values());
        candidates.map(|candidate| (candidate.object.key.clone(), candidate.canary.clone()))
    }

    /// Reports about canaries together.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.entries.values().flat_map(|entry| &entry.reports)
    }

    /// The backends that a Service stands behind.
    pub(crate) fn of_service(&self, service: &ObjectKey) -> impl Iterator<Item = &BackendId> {
        self.by_service.get(service).into_iter().flat_map(Few::keys)
    }

    fn entry(&mut self, port: &BackendId) -> &mut Entry {
        self.open.insert(port.clone());
        self.entries.entry(port.clone()).or_default()
    }

    /// A backend has come, changed or gone.
    fn note_service(&mut self, id: &BackendId, port: &BackendId, before: &[(BackendId, Source)]) {
        let service = |source: Option<&Source>| match source.map(|source| &source.origin) {
            Some(BackendSource::Service(service, _)) => Some(service.clone()),
            Some(BackendSource::External(_)) | None => None,
        };
        let now = self
            .entries
            .get(port)
            .and_then(|entry| source(&entry.sources, id));
        let (old, new) = (service(source(before, id)), service(now));
        if let Some(old) = old {
            let of_service = self.by_service.entry(old.clone()).or_default();
            of_service.remove(id);
            if of_service.is_empty() {
                self.by_service.remove(&old);
            }
        }
        if let Some(new) = new {
            let of_service = self.by_service.entry(new).or_default();
            of_service.insert(id.clone(), ());
        }
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        self.backend_refs.is_empty() && self.canary_candidates.is_empty()
    }
}

fn source<'a>(sources: &'a [(BackendId, Source)], id: &BackendId) -> Option<&'a Source> {
    let place = sources.binary_search_by(|(other, _)| other.cmp(id)).ok()?;
    sources.get(place).map(|(_, source)| source)
}

/// Makes equal values the same.
fn share<T: PartialEq>(last: &mut Arc<T>, value: &mut Arc<T>) {
    if value == last {
        *value = Arc::clone(last);
    } else {
        *last = Arc::clone(value);
    }
}

/// The names of what canaries lead to.
fn ports(canaries: &[Canary]) -> BTreeSet<BackendId> {
    canaries
        .iter()
        .map(|canary| canary.backend.clone())
        .collect()
}

/// The choice among the endpoints: of those with the highest authority the first decides, and the first that asks for sessions has
/// them. `None`: nobody speaks to them.
fn balance(backend_refs: &Few<ReferencePrecedence, Box<BackendRef>>) -> Option<Arc<Balance>> {
    let first = backend_refs
        .values()
        .min_by_key(|backend_ref| backend_ref.authority)?;
    let mut peers = backend_refs
        .values()
        .filter(|backend_ref| backend_ref.authority == first.authority);
    let affinity = peers.find_map(|backend_ref| backend_ref.balance.affinity.clone());
    let mut balance = Arc::clone(&first.balance);
    if balance.affinity != affinity {
        Arc::make_mut(&mut balance).affinity = affinity;
    }
    Some(balance)
}

/// Whoever speaks to the pods, and how.
fn sources(
    backend_refs: &Few<ReferencePrecedence, Box<BackendRef>>,
    inherited: &BTreeMap<BackendId, Spoken>,
) -> Box<[(BackendId, Source)]> {
    let Some(balance) = balance(backend_refs) else {
        return Box::default();
    };
    let mut sources = Sources::default();
    for backend_ref in backend_refs.values() {
        if let Some(spoken) = &backend_ref.spoken {
            let source = sources.add(&backend_ref.id, spoken, backend_ref, &balance);
            source.sites.push(backend_ref.site.clone());
        }
    }
    let canaries = || backend_refs.values().filter(|it| it.spoken.is_none());
    // All are of the namespace of the Service, so one has as much authority as the other.
    if let Some(canary) = canaries().next() {
        for (id, spoken) in inherited {
            sources.add(id, spoken, canary, &balance);
        }
    }
    // One backend suffices to report what is wrong with the Service of all.
    let first = inherited.keys().next();
    if let Some((_, source)) = first.and_then(|first| sources.0.get_mut(first)) {
        source.sites.extend(canaries().map(|it| it.site.clone()));
    }
    let sources = sources.0.into_iter();
    sources.map(|(id, (_, source))| (id, source)).collect()
}

/// Backends of a port, with the highest authority of those who ask for each.
#[derive(Default)]
struct Sources(BTreeMap<BackendId, (Authority, Source)>);

impl Sources {
    /// Adds a backend that a reference asks for.
    fn add(
        &mut self,
        id: &BackendId,
        spoken: &Spoken,
        backend_ref: &BackendRef,
        balance: &Arc<Balance>,
    ) -> &mut Source {
        let authority = backend_ref.authority;
        let new = || Source {
            origin: backend_ref.origin.clone(),
            balance: balance.clone(),
            spoken: spoken.clone(),
            // Most backends have one.
            sites: Vec::with_capacity(1),
        };
        let (highest, source) = self
            .0
            .entry(id.clone())
            .or_insert_with(|| (authority, new()));
        let most = &mut source.spoken.attempts;
        match authority.cmp(highest) {
            Ordering::Less => (*highest, *most) = (authority, spoken.attempts),
            Ordering::Equal => *most = spoken.attempts.max(*most),
            Ordering::Greater => {}
        }
        source
    }
}
