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
pub(super) struct Held(BTreeMap<ObjectKey, Waiting>);

struct Waiting {
    event: Event,
    names: BTreeSet<Name>,
    until: Instant,
}

impl Held {
    /// Keeps an event until these names are read.
    pub(super) fn hold(
        &mut self,
        key: ObjectKey,
        event: Event,
        names: BTreeSet<Name>,
        now: Instant,
    ) {
        let until = now + LONGEST;
        let waiting = Waiting {
            event,
            names,
            until,
        };
        self.0.insert(key, waiting);
    }

    /// Forgets the event of an Ingress that something newer is known of.
    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.0.remove(key);
    }

    /// A name was looked up; returns the events that waited for it alone.
    pub(super) fn answered(&mut self, name: &Name) -> Vec<Event> {
        self.0.values_mut().for_each(|waiting| {
            waiting.names.remove(name);
        });
        self.take(|waiting| waiting.names.is_empty())
    }

    /// Returns the events that have waited long enough.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<Event> {
        self.take(|waiting| waiting.until <= now)
    }

    /// The time of the next [`Held::expired`], if there is any.
    pub(super) fn expires(&self) -> Option<Instant> {
        self.0.values().map(|waiting| waiting.until).min()
    }

    fn take(&mut self, is_over: impl Fn(&Waiting) -> bool) -> Vec<Event> {
        let over = self.0.extract_if(.., |_, waiting| is_over(waiting));
        over.map(|(_, waiting)| waiting.event).collect()
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
}
