//! Subscription of one client to one type: the delta protocol.
//!
//! Pure: requests in, responses out. There is one response in flight; what changes meanwhile waits in `dirty`, where
//! many changes of one resource are one.

mod refusal;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use imbl::OrdSet;
use sluice_xds_resource::{FilterForm, Name, ResourceType};

use crate::acknowledgement::{Acknowledgement, InFlight, MOST_NAMES, SentName, TooManyNames};
use crate::cache::Cache;
use crate::history::Generation;
use crate::known::Known;
use crate::response::{ChangeSet, Need, Response, fits, room};
use crate::unique::make_unique;
use crate::version::Version;

const WILDCARD: &str = "*";

/// One type of one client.
#[derive(Debug)]
pub(crate) struct Subscription {
    kind: ResourceType,
    form: FilterForm,
    wildcard: bool,
    names: OrdSet<Name>,
    known: Known,
    /// Names of resources that may differ from what the client has.
    dirty: OrdSet<Name>,
    /// Names that the client waits for although it has them, or is about to.
    forced: BTreeSet<Name>,
    /// Parts of a refused response, each to be sent alone.
    suspects: Vec<OrdSet<Name>>,
    /// Versions with a NACK of their own.
    refused: BTreeMap<Name, Option<Version>>,
    /// Refused, and to be sent again as they are.
    again: BTreeSet<Name>,
    in_flight: Option<InFlight>,
    answered: Generation,
    /// The client waits for a first response, even an empty one.
    greeting: bool,
}

impl Subscription {
    /// Begins with the first request of a type on a stream, of a client that takes this form of the filter.
    pub(crate) fn begin(
        kind: ResourceType,
        form: FilterForm,
        request: &DeltaDiscoveryRequest,
        cache: &Cache,
    ) -> Result<Self, TooManyNames> {
        let listed = &request.resource_names_subscribe;
        // Before `*` existed, all was asked for by naming nothing; Envoy still does for these.
        let all = matches!(
            kind,
            ResourceType::Cluster | ResourceType::Listener | ResourceType::Scope
        );
        let legacy = listed.is_empty() && all;
        let mut subscription = Subscription {
            kind,
            form,
            wildcard: false,
            names: OrdSet::new(),
            known: cache
                .catalogue(kind)
                .map_or_else(Known::default, Known::none_of),
            dirty: OrdSet::new(),
            forced: BTreeSet::new(),
            suspects: Vec::new(),
            refused: BTreeMap::new(),
            again: BTreeSet::new(),
            in_flight: None,
            answered: Generation::default(),
            greeting: false,
        };
        if legacy {
            subscription.want_all(cache);
        }
        subscription.update(request, cache)?;
        subscription.resume(&request.initial_resource_versions, cache);
        Ok(subscription)
    }

    /// Versions that the client kept from a stream before this one.
    fn resume(&mut self, versions: &HashMap<String, String>, cache: &Cache) {
        self.greeting = self.wildcard && versions.is_empty();
        for (name, version) in versions {
            let name = cache.name(self.kind, name);
            if self.wants(&name) {
                self.forced.remove(&name);
                self.dirty.insert(name.clone());
                self.known.insert(&name, Version::parse(version));
            }
        }
    }

    /// Any later request: an answer, a change of the subscription, or both.
    pub(crate) fn request(
        &mut self,
        request: &DeltaDiscoveryRequest,
        cache: &Cache,
    ) -> Result<Acknowledgement, TooManyNames> {
        let verdict = self.verdict(&request.response_nonce, request.error_detail.is_some());
        self.update(request, cache)?;
        Ok(verdict)
    }

    fn update(
        &mut self,
        request: &DeltaDiscoveryRequest,
        cache: &Cache,
    ) -> Result<(), TooManyNames> {
        for name in &request.resource_names_subscribe {
            if name == WILDCARD {
                self.want_all(cache);
            } else {
                let name = cache.name(self.kind, name);
                self.names.insert(name.clone());
                self.force(name);
            }
        }
        for name in &request.resource_names_unsubscribe {
            if name == WILDCARD {
                self.wildcard = false;
                self.greeting = false;
                self.forget_unwanted();
                continue;
            }
            let name = cache.name(self.kind, name);
            self.names.remove(&name);
            if self.wildcard {
                // Still covered: the client wants to know what becomes of it.
                self.force(name);
            } else {
                self.forget(&name);
            }
        }
        // What is dirty counts, too: a client that answers nothing must not be able to pile it up.
        if self.names.len().max(self.dirty.len()) > MOST_NAMES {
            Err(TooManyNames)
        } else {
            Ok(())
        }
    }

    fn want_all(&mut self, cache: &Cache) {
        self.wildcard = true;
        self.all_is_dirty(cache);
    }

    fn all_is_dirty(&mut self, cache: &Cache) {
        if let Some(all) = cache.catalogue(self.kind) {
            // Of a client that has nothing yet, it is the cache's own.
            self.dirty = all.names().clone().union(std::mem::take(&mut self.dirty));
        }
    }

    /// Answers about this name even when the client has it: a cluster that warms waits for its endpoints again.
    pub(crate) fn force(&mut self, name: Name) {
        self.dirty.insert(name.clone());
        let is_sent = self.in_flight.as_ref().is_some_and(|it| it.has(&name));
        // Whoever has nothing yet and asks by name is answered anyway, without a set of ten thousand names for it.
        if is_sent || self.known.get(&name).is_some() || !self.names.contains(&name) {
            self.forced.insert(name);
        }
    }

    pub(crate) fn wants(&self, name: &Name) -> bool {
        self.wildcard || self.names.contains(name)
    }

    /// Without the wildcard.
    fn forget_unwanted(&mut self) {
        let all = self
            .known
            .names()
            .chain(&self.dirty)
            .chain(self.refused.keys());
        let unwanted = all.filter(|name| !self.names.contains(*name));
        let unwanted: Vec<Name> = unwanted.cloned().collect();
        unwanted.iter().for_each(|name| self.forget(name));
    }

    /// One name, so that a client that unsubscribes costs what it unsubscribes from.
    fn forget(&mut self, name: &Name) {
        self.known.remove(name);
        self.dirty.remove(name);
        self.forced.remove(name);
        self.forget_refusal(name);
    }

    /// Makes what the client has the cache's own once nothing is left to say.
    fn share(&mut self, cache: &Cache) {
        let is_idle = self.in_flight.is_none() && self.dirty.is_empty();
        if !is_idle || !self.suspects.is_empty() || !self.refused.is_empty() {
            return;
        }
        if let Some(all) = cache.catalogue(self.kind) {
            let names = (!self.wildcard).then_some(&mut self.names);
            self.known.share(all, names);
        }
    }

    fn verdict(&mut self, nonce: &str, refused: bool) -> Acknowledgement {
        let Some(in_flight) = self.in_flight.take_if(|in_flight| in_flight.nonce == nonce) else {
            return Acknowledgement::None;
        };
        match refused {
            true => self.was_refused(in_flight),
            false => self.was_accepted(in_flight),
        }
    }

    fn was_accepted(&mut self, in_flight: InFlight) -> Acknowledgement {
        for (name, version) in &*in_flight.sent {
            self.forget_refusal(name);
            match version {
                Some(version) if self.wants(name) => {
                    self.known.insert(name, Some(*version));
                }
                _ => self.known.remove(name),
            }
        }
        self.answered = in_flight.covers.unwrap_or(self.answered);
        Acknowledgement::Accepted(in_flight.sent)
    }

    /// A resource changed.
    pub(crate) fn changed(&mut self, name: &Name) {
        if self.wants(name) || self.known.get(name).is_some() {
            self.dirty.insert(name.clone());
            self.forget_refusal(name);
        }
    }

    /// Anything may have changed.
    pub(crate) fn changed_all(&mut self, cache: &Cache) {
        self.dirty.extend(self.names.iter().cloned());
        self.dirty.extend(self.known.names().cloned());
        if self.wildcard {
            self.all_is_dirty(cache);
        }
    }

    /// True if a response is in flight.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// True if there is something to send, now or as soon as the type is complete.
    pub(crate) fn is_pending(&self, part: ChangeSet, cache: &Cache) -> bool {
        if !cache.is_complete(self.kind) {
            return true;
        }
        let names = self.suspects.iter().flatten().chain(&self.dirty);
        self.greeting
            || names
                .into_iter()
                .any(|name| fits(&self.need(name, cache), part))
    }

    /// Everything up to here was answered, in one way or the other.
    pub(crate) fn answered(&self, cache: &Cache) -> Generation {
        let idle = self.in_flight.is_none() && !self.is_pending(ChangeSet::Both, cache);
        let silent = !cache.is_complete(self.kind);
        match idle || silent {
            true => cache.generation(),
            false => self.answered,
        }
    }

    /// The next response, if there is one to send. `cache` must not be newer than what [`Self::changed`] was told.
    pub(crate) fn next(
        &mut self,
        part: ChangeSet,
        cache: &Cache,
        nonce: impl FnOnce() -> String,
    ) -> Option<Response> {
        if self.in_flight.is_some() || !cache.is_complete(self.kind) {
            return None;
        }
        let mut response = Response {
            type_url: self.kind.type_url(),
            ..Response::default()
        };
        let mut sent = Vec::new();
        while sent.is_empty()
            && let Some(suspects) = self.suspects.pop()
        {
            let left = self.fill(&mut response, &mut sent, suspects, part, cache);
            if !left.is_empty() {
                self.suspects.push(left);
                break;
            }
        }
        if sent.is_empty() {
            let dirty = std::mem::take(&mut self.dirty);
            self.dirty = self.fill(&mut response, &mut sent, dirty, part, cache);
        }
        if sent.is_empty() && !(self.greeting && part != ChangeSet::Removals) {
            self.share(cache);
            return None;
        }
        self.greeting = false;
        response.nonce = nonce();
        let covers =
            (self.dirty.is_empty() && self.suspects.is_empty()).then(|| cache.generation());
        make_unique(self.kind, &mut response);
        response.sent = sent.into();
        self.in_flight = Some(InFlight {
            nonce: response.nonce.clone(),
            sent: Arc::clone(&response.sent),
            covers,
        });
        Some(response)
    }

    /// Adds what is needed of these names, and returns those for a later response.
    fn fill(
        &mut self,
        response: &mut Response,
        sent: &mut Vec<SentName>,
        names: OrdSet<Name>,
        part: ChangeSet,
        cache: &Cache,
    ) -> OrdSet<Name> {
        let (mut room, mut done) = (room(self.kind), Vec::new());
        for name in &names {
            if room == 0 {
                break;
            }
            let need = self.need(name, cache);
            match &need {
                // Nothing is left to send again, either.
                Need::Nothing => drop(self.again.remove(name)),
                _ if !fits(&need, part) => continue,
                Need::Set(stored) => {
                    let message = Arc::clone(stored.message(self.form));
                    room = room.saturating_sub(message.len() + name.len());
                    response.messages.push(message);
                    sent.push((name.clone(), Some(stored.version)));
                }
                Need::Remove => {
                    room = room.saturating_sub(name.len());
                    sent.push((name.clone(), None));
                }
            }
            self.forced.remove(name);
            done.push(name);
        }
        if done.len() == names.len() {
            return OrdSet::new();
        }
        let mut left = names.clone();
        done.into_iter().for_each(|name| drop(left.remove(name)));
        left
    }

    fn need<'a>(&self, name: &Name, cache: &'a Cache) -> Need<'a> {
        let (known, forced) = (self.known.get(name), self.forced.contains(name));
        let stored = cache.find(self.kind, name).filter(|_| self.wants(name));
        let version = stored.map(|stored| stored.version);
        if self.refused.get(name) == Some(&version) && !self.again.contains(name) {
            return Need::Nothing;
        }
        match stored {
            Some(stored) if forced || known != Some(&version) => Need::Set(stored),
            None if forced || known.is_some() || self.names.contains(name) => Need::Remove,
            _ => Need::Nothing,
        }
    }
}
