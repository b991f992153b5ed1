//! Ingresses whose Secrets and ConfigMaps are on their way: passed on when these are read, so that nothing that exists is reported
//! as missing, and no path is closed for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sluice_source::Event;
use sluice_translate::ObjectKey;
use tokio::time::Instant;

use super::references::Name;

/// Longest wait of an Ingress; no other object waits for it.
const LONGEST: Duration = Duration::from_secs(1);

/// Events of Ingresses, the last of each.
#[derive(Default)]
pub(super) struct Held {
    waiting: BTreeMap<ObjectKey, Waiting>,
    /// The Ingresses that wait for a name: an answer costs what it ends, however many others wait.
    by_name: BTreeMap<Name, BTreeSet<ObjectKey>>,
    /// The Ingresses by the end of their waiting.
    by_end: BTreeSet<(Instant, ObjectKey)>,
}

struct Waiting {
    event: Event,
    names: BTreeSet<Name>,
    until: Instant,
}

impl Held {
    /// Keeps an event until these names are read. One that takes the place of another ends when that would have: who is changed all
    /// the time is passed on all the same.
    pub(super) fn hold(
        &mut self,
        key: ObjectKey,
        event: Event,
        names: BTreeSet<Name>,
        now: Instant,
    ) {
        let until = self
            .take(&key)
            .map_or(now + LONGEST, |waiting| waiting.until);
        for name in &names {
            let keys = self.by_name.entry(name.clone()).or_default();
            keys.insert(key.clone());
        }
        self.by_end.insert((until, key.clone()));
        let waiting = Waiting {
            event,
            names,
            until,
        };
        self.waiting.insert(key, waiting);
    }

    /// Forgets the event of an Ingress that something newer is known of.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.take(key);
    }

    /// A name was looked up; returns the events that waited for it alone.
    pub(super) fn answered(&mut self, name: &Name) -> Vec<Event> {
        let keys = self.by_name.remove(name).unwrap_or_default();
        let mut events = Vec::new();
        for key in keys {
            let Some(waiting) = self.waiting.get_mut(&key) else {
                continue;
            };
            waiting.names.remove(name);
            if waiting.names.is_empty() {
                events.extend(self.take(&key).map(|waiting| waiting.event));
            }
        }
        events
    }

    /// Returns the events that have waited long enough.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some((until, key)) = self.by_end.first().cloned()
            && until <= now
        {
            events.extend(self.take(&key).map(|waiting| waiting.event));
        }
        events
    }

    /// The time of the next [`Held::expired`], if there is any.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.by_end.first().map(|(until, _)| *until)
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Waiting> {
        let waiting = self.waiting.remove(key)?;
        self.by_end.remove(&(waiting.until, key.clone()));
        for name in &waiting.names {
            if let Some(keys) = self.by_name.get_mut(name) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_name.remove(name);
                }
            }
        }
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use sluice_translate::Kind;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::parse(&format!("d/{name}")).unwrap()
    }

    fn hold(held: &mut Held, name: &str, secrets: &[&str], now: Instant) {
        let names = secrets.iter().map(|name| (Kind::Secret, key(name)));
        let event = Event::Delete(Kind::Ingress, key(name));
        held.hold(key(name), event, names.collect(), now);
    }

    #[test]
    fn an_ingress_waits_for_all_of_its_names() {
        let mut held = Held::default();
        hold(&mut held, "a", &["x", "y"], Instant::now());
        hold(&mut held, "b", &["y"], Instant::now());
        assert_eq!(held.answered(&(Kind::Secret, key("x"))).len(), 0);
        assert_eq!(held.answered(&(Kind::Secret, key("y"))).len(), 2);
        assert_eq!(held.expires(), None);
    }

    #[test]
    fn nothing_waits_longer_than_the_limit_or_for_what_is_old() {
        let now = Instant::now();
        let mut held = Held::default();
        hold(&mut held, "a", &["x"], now);
        hold(&mut held, "b", &["x"], now + LONGEST);
        assert_eq!(held.expires(), Some(now + LONGEST));
        assert_eq!(held.expired(now + LONGEST / 2).len(), 0);
        assert_eq!(held.expired(now + LONGEST).len(), 1);
        held.forget(&key("b"));
        assert_eq!(held.answered(&(Kind::Secret, key("x"))).len(), 0);
    }
    #[test]
    fn an_ingress_that_is_changed_all_the_time_waits_no_longer_than_others() {
        let now = Instant::now();
        let mut held = Held::default();
        hold(&mut held, "a", &["x"], now);
        hold(&mut held, "a", &["y"], now + LONGEST / 2);
        assert_eq!(held.answered(&(Kind::Secret, key("x"))).len(), 0);
        assert_eq!(held.expired(now + LONGEST).len(), 1);
        assert!(held.by_name.is_empty() && held.by_end.is_empty());
    }
}
