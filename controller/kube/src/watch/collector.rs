//! Receives all watch events, passes on those that matter, and reports when the initial lists are complete.

use std::collections::BTreeSet;
use std::time::Duration;

use sluice_source::{Event, Problem};
use sluice_translate::{Kind, Object, ObjectKey, ObjectRef};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::fetch::{Fetched, Fetcher};
use super::held::Held;
use super::ingresses::{Consequences, IngressStatus, Ingresses};
use super::invalid_objects::InvalidObjects;
use super::mirror::WatchEvent;
use super::named::{Named, Step, described};
use super::raw::{Raw, Whole};
use super::references::{self, Name};
use super::scopes::{ScopeEvent, Scopes};
use super::{IngressRef, Listeners, Settings};
use crate::Notification;

/// The first event of a quiet time goes on at once; the next ones wait together this long. A thousand objects applied
/// at once are some dozens of publications, and an endpoint that moves alone does not wait at all.
const SPACING: Duration = Duration::from_millis(20);

pub(super) struct Collector {
    scopes: Scopes,
    fetcher: Fetcher,
    /// Objects that flags name. They have watches of their own and are never dropped.
    always: BTreeSet<Name>,
    ingresses: Ingresses,
    named: Named,
    held: Held,
    invalid_objects: InvalidObjects,
    listeners: Listeners,
    events: Vec<Event>,
    changed_ingresses: Vec<IngressRef>,
    is_ready: bool,
    passed_on: Option<Instant>,
}

impl Collector {
    pub(super) fn new(
        fetcher: Fetcher,
        settings: Settings,
        scopes: Scopes,
        listeners: Listeners,
    ) -> Self {
        Collector {
            scopes,
            fetcher,
            always: settings.always,
            ingresses: Ingresses::new(settings.options),
            named: Named::default(),
            held: Held::default(),
            invalid_objects: InvalidObjects::default(),
            listeners,
            events: Vec::new(),
            changed_ingresses: Vec::new(),
            is_ready: false,
            passed_on: None,
        }
    }

    /// Runs until the runtime ends; the watches hold the other end of the inbox.
    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<ScopeEvent>,
        classes_are_readable: bool,
    ) {
        if !classes_are_readable {
            self.ingresses.forbid_classes();
            self.events.push(Event::IngressClassesForbidden);
        }
        loop {
            let event = match self.passes_on_at() {
                None => inbox.recv().await,
                Some(at) => match tokio::time::timeout_at(at, inbox.recv()).await {
                    Ok(event) => event,
                    Err(_) => {
                        self.events.extend(self.held.expired(Instant::now()));
                        self.pass_on();
                        continue;
                    }
                },
            };
            match event {
                Some(event) => self.handle(event),
                None => return,
            }
        }
    }

    fn passes_on_at(&self) -> Option<Instant> {
        let waiting = !self.events.is_empty() || !self.changed_ingresses.is_empty();
        let next = waiting.then(|| {
            self.passed_on
                .map_or_else(Instant::now, |before| before + SPACING)
        });
        next.into_iter().chain(self.held.expires()).min()
    }

    fn pass_on(&mut self) {
        self.passed_on = Some(Instant::now());
        // The receiver is gone only when the program ends.
        self.listeners
            .events
            .send(std::mem::take(&mut self.events))
            .ok();
        self.listeners
            .changed_ingresses
            .send(std::mem::take(&mut self.changed_ingresses))
            .ok();
    }

    fn handle(&mut self, event: ScopeEvent) {
        match event {
            ScopeEvent::Whole(_, kind, WatchEvent::Seen(object)) => self.see(kind, object),
            ScopeEvent::Whole(_, kind, WatchEvent::Gone(key)) => self.lose(kind, key),
            ScopeEvent::Head(_, Kind::Namespace, WatchEvent::Seen(namespace)) => {
                self.scopes.enter(&namespace.key().name);
            }
            ScopeEvent::Head(_, Kind::Namespace, WatchEvent::Gone(key)) => {
                self.scopes.leave(&key.name);
            }
            ScopeEvent::Head(_, Kind::Pod, WatchEvent::Seen(pod)) => self.see(Kind::Pod, pod),
            ScopeEvent::Head(_, Kind::Pod, WatchEvent::Gone(key)) => self.lose(Kind::Pod, key),
            ScopeEvent::Head(_, kind, WatchEvent::Seen(head)) => {
                let step = self.named.shown(&(kind, head.key()), head.version());
                self.take(step);
            }
            ScopeEvent::Head(_, kind, WatchEvent::Gone(key)) => {
                let step = self.named.gone(&(kind, key));
                self.take(step);
            }
            ScopeEvent::Whole(id, _, WatchEvent::Listed)
            | ScopeEvent::Head(id, _, WatchEvent::Listed) => {
                self.scopes.listed(id);
            }
            ScopeEvent::Fetched(fetched) => self.fetched(fetched),
        }
        if !self.is_ready && self.scopes.are_listed() && self.named.is_settled() {
            self.is_ready = true;
            self.events.push(Event::Ready);
        }
    }

    fn see<const METADATA_ONLY: bool>(&mut self, kind: Kind, object: Raw<METADATA_ONLY>) {
        let key = object.key();
        let status = (kind == Kind::Ingress).then(|| IngressStatus::from_json(object.value()));
        match object.object(kind) {
            Ok(object) => {
                let consequences = match &object {
                    Object::Ingress(ingress) => {
                        self.ingresses
                            .see(&key, ingress, status.unwrap_or_default())
                    }
                    Object::IngressClass(_) => self.ingresses.see_class(object.clone()),
                    Object::ConfigMap(settings) if self.always.contains(&(kind, key.clone())) => {
                        self.ingresses
                            .see_settings(references::of_settings(settings))
                    }
                    _ => Consequences::default(),
                };
                let is_ingress = kind == Kind::Ingress;
                let unread = self.unread(&consequences);
                self.notify(&key, &consequences);
                self.follow_up(consequences);
                let event = Event::Apply(object);
                // Before that, everything waits for the first lists.
                if is_ingress && self.is_ready && !unread.is_empty() {
                    self.held.hold(key.clone(), event, unread, Instant::now());
                } else {
                    if is_ingress {
                        self.held.forget(&key);
                    }
                    self.events.push(event);
                }
                self.invalid_objects
                    .clear(&(kind, key), &self.listeners.notifications);
            }
            // Its last content is still served: it was not deleted.
            Err(error) => {
                let problem = Problem::new("API server", error.to_string());
                self.events.push(Event::Problem(problem));
                self.invalid_objects.report(
                    ObjectRef { kind, key },
                    error,
                    &self.listeners.notifications,
                );
            }
        }
    }

    /// Tells of an Ingress of ours, unless it was there before us.
    fn notify(&self, key: &ObjectKey, consequences: &Consequences) {
        let synced = consequences.synced.as_ref().filter(|_| self.is_ready);
        if let Some(uid) = synced {
            let notification = Notification::IngressSynced {
                key: key.clone(),
                uid: uid.clone(),
            };
            // The receiver is gone only when the program ends.
            self.listeners.notifications.send(vec![notification]).ok();
        }
    }

    fn lose(&mut self, kind: Kind, key: ObjectKey) {
        let consequences = match kind {
            Kind::Ingress => self.ingresses.forget(&key),
            Kind::IngressClass => self.ingresses.forget_class(&key),
            Kind::ConfigMap if self.always.contains(&(kind, key.clone())) => {
                self.ingresses.see_settings(BTreeSet::new())
            }
            _ => Consequences::default(),
        };
        self.invalid_objects
            .clear(&(kind, key.clone()), &self.listeners.notifications);
        if kind == Kind::Ingress {
            self.held.forget(&key);
        }
        self.events.push(Event::Delete(kind, key));
        self.follow_up(consequences);
    }

    /// Names that are wanted now and have not been looked up yet.
    fn unread(&self, consequences: &Consequences) -> BTreeSet<Name> {
        let wanted = consequences.wanted.iter();
        let of_flags = |name: &&Name| self.always.contains(*name);
        wanted
            .filter(|name| !of_flags(name) && !self.named.is_answered(name))
            .cloned()
            .collect()
    }

    fn follow_up(&mut self, consequences: Consequences) {
        self.changed_ingresses
            .extend(consequences.changed_ingresses);
        for name in consequences.wanted {
            if !self.always.contains(&name) {
                let step = self.named.want(name);
                self.take(step);
            }
        }
        // What flags name was never wanted from here, so nothing comes of this for it.
        for name in &consequences.unwanted {
            let step = self.named.unwant(name);
            self.take(step);
        }
    }

    fn take(&mut self, step: Option<Step>) {
        match step {
            Some(Step::Read(name)) => self.fetcher.read(name),
            Some(Step::Drop((kind, key))) => self.events.push(Event::Delete(kind, key)),
            None => {}
        }
    }

    fn fetched(&mut self, Fetched { name, answer }: Fetched) {
        self.take_answer(name.clone(), answer);
        self.events.extend(self.held.answered(&name));
    }

    fn take_answer(&mut self, name: Name, answer: Result<Option<Whole>, String>) {
        match answer {
            Ok(Some(object)) => {
                let (is_wanted, step) = self.named.read(&name, object.version());
                if is_wanted {
                    self.see(name.0, object);
                }
                self.take(step);
            }
            Ok(None) => {
                let step = self.named.missing(&name);
                self.take(step);
            }
            Err(error) => {
                if self.named.failed(&name) {
                    let reason =
                        format!("cannot be read: {error}; what was read before is still used");
                    let problem = Problem::new(described(&name), reason);
                    self.events.push(Event::Problem(problem));
                    self.fetcher.read_later(name);
                }
            }
        }
    }
}
