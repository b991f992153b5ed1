//! A queue of what is due, in fair turns of namespaces.
//!
//! ```text
//!   later, by when the first thing of each is due --time--> ready, in the order of their turns --next--> its first thing
//! ```
//!
//! Whatever a namespace has piled up, another one waits for one thing of it. Every step costs the logarithm of what there is. (The
//! turns of `sluice-fair` are of work that may begin at once; this is due at some time, and again after it.)

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

/// Things of namespaces, each with its time.
#[derive(Debug)]
pub(super) struct DueQueue<T> {
    namespaces: BTreeMap<Arc<str>, Namespace<T>>,
    later: BTreeSet<(Instant, Arc<str>)>,
    ready: BTreeMap<u64, Arc<str>>,
    /// Turns that were given out.
    turns: u64,
}

#[derive(Debug)]
struct Namespace<T> {
    times: BTreeMap<T, Instant>,
    in_order: BTreeSet<(Instant, T)>,
    place: Place,
}

/// The place of a namespace that waits.
#[derive(Clone, Copy, Debug)]
enum Place {
    Later(Instant),
    Ready(u64),
}

impl<T> Default for DueQueue<T> {
    fn default() -> Self {
        DueQueue {
            namespaces: BTreeMap::new(),
            later: BTreeSet::new(),
            ready: BTreeMap::new(),
            turns: 0,
        }
    }
}

impl<T: Clone + Ord> DueQueue<T> {
    /// Adds something, or moves it to another time.
    pub(super) fn set(&mut self, namespace: &Arc<str>, item: T, due: Instant) {
        if !self.namespaces.contains_key(namespace) {
            let fresh = Namespace {
                times: BTreeMap::new(),
                in_order: BTreeSet::new(),
                place: Place::Later(due),
            };
            self.namespaces.insert(Arc::clone(namespace), fresh);
            self.later.insert((due, Arc::clone(namespace)));
        }
        let Some(all) = self.namespaces.get_mut(namespace) else {
            return;
        };
        if let Some(before) = all.times.insert(item.clone(), due) {
            all.in_order.remove(&(before, item.clone()));
        }
        all.in_order.insert((due, item));
        self.follow_first(namespace);
    }

    pub(super) fn remove(&mut self, namespace: &Arc<str>, item: &T) {
        let Some(all) = self.namespaces.get_mut(namespace) else {
            return;
        };
        if let Some(due) = all.times.remove(item) {
            all.in_order.remove(&(due, item.clone()));
            self.follow_first(namespace);
        }
    }

    pub(super) fn contains(&self, namespace: &Arc<str>, item: &T) -> bool {
        let all = self.namespaces.get(namespace);
        all.is_some_and(|all| all.times.contains_key(item))
    }

    /// The next one, and when it is due: of those that are due at this time, that of the namespace whose turn it is.
    pub(super) fn next(&mut self, at: Instant) -> Option<(Instant, &T)> {
        while let Some((due, namespace)) = self.later.first().cloned()
            && due <= at
        {
            self.put(&namespace, Place::Ready(0));
        }
        // One may have lost what was due.
        while let Some(namespace) = self.ready.values().next().cloned() {
            let (due, _) = self.namespaces.get(&namespace)?.in_order.first()?;
            if *due <= at {
                break;
            }
            let due = *due;
            self.put(&namespace, Place::Later(due));
        }
        let later = || self.later.first().map(|(_, namespace)| namespace);
        let namespace = self.ready.values().next().or_else(later)?;
        let (due, item) = self.namespaces.get(namespace)?.in_order.first()?;
        Some((*due, item))
    }

    /// A namespace has had its turn, with something that is due again then, or not at all.
    pub(super) fn had_turn(&mut self, namespace: &Arc<str>, item: &T, again: Option<Instant>) {
        match again {
            Some(due) if self.contains(namespace, item) => self.set(namespace, item.clone(), due),
            _ => self.remove(namespace, item),
        }
        if let Some(all) = self.namespaces.get(namespace)
            && let Place::Ready(_) = all.place
        {
            self.put(namespace, Place::Ready(0));
        }
    }

    /// The place of a namespace that waits for its first thing, which may be another one now.
    fn follow_first(&mut self, namespace: &Arc<str>) {
        let Some(all) = self.namespaces.get(namespace) else {
            return;
        };
        match (all.in_order.first().map(|(due, _)| *due), all.place) {
            (None, _) => {
                self.leave(namespace);
                self.namespaces.remove(namespace);
            }
            (Some(due), Place::Later(_)) => self.put(namespace, Place::Later(due)),
            (Some(_), Place::Ready(_)) => {}
        }
    }

    /// Moves a namespace; to be ready is to be the last of those that are.
    fn put(&mut self, namespace: &Arc<str>, place: Place) {
        self.leave(namespace);
        let place = match place {
            Place::Later(due) => {
                self.later.insert((due, Arc::clone(namespace)));
                Place::Later(due)
            }
            Place::Ready(_) => {
                self.turns += 1;
                self.ready.insert(self.turns, Arc::clone(namespace));
                Place::Ready(self.turns)
            }
        };
        if let Some(all) = self.namespaces.get_mut(namespace) {
            all.place = place;
        }
    }

    fn leave(&mut self, namespace: &Arc<str>) {
        match self.namespaces.get(namespace).map(|all| all.place) {
            Some(Place::Later(due)) => {
                self.later.remove(&(due, Arc::clone(namespace)));
            }
            Some(Place::Ready(turn)) => {
                self.ready.remove(&turn);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const REPEAT: Duration = Duration::from_secs(60);
    const STEPS: u32 = 4;

    fn name(number: usize) -> Arc<str> {
        format!("n{number}").into()
    }

    /// Of every namespace at most one thing goes before that of another, whatever each has piled up.
    #[test]
    fn nobody_waits_for_more_than_one_thing_of_another() {
        let start = Instant::now();
        for crowd in [1_usize, 10, 3000] {
            for namespaces in 1..6 {
                let mut queue = DueQueue::default();
                for number in 0..namespaces * crowd {
                    queue.set(
                        &name(number % namespaces),
                        (number % namespaces, number),
                        start,
                    );
                }
                // Some have had turns before it comes.
                let step = |queue: &mut DueQueue<(usize, usize)>| {
                    let (_, item) = queue.next(start).unwrap();
                    let item = *item;
                    queue.had_turn(&name(item.0), &item, Some(start + REPEAT));
                    item.0
                };
                for _ in 0..crowd / 2 {
                    step(&mut queue);
                }
                queue.set(&name(99), (99, 0), start);
                let before: Vec<usize> = std::iter::from_fn(|| Some(step(&mut queue)))
                    .take_while(|namespace| *namespace != 99)
                    .collect();
                assert!(before.len() <= namespaces, "{before:?}");
                let distinct: BTreeSet<&usize> = before.iter().collect();
                assert_eq!(distinct.len(), before.len());
            }
        }
    }

    /// Every sequence of steps, against a list: nothing is lost, and nothing comes before it is due while something else is.
    #[test]
    fn what_is_next_is_due_or_the_first_to_be() {
        let start = Instant::now();
        let seconds = |count: usize| start + Duration::from_secs(count as u64);
        for sequence in 0..12_usize.pow(STEPS) {
            let mut queue = DueQueue::default();
            let mut list: BTreeMap<(usize, usize), Instant> = BTreeMap::new();
            let mut rest = sequence;
            for now in 0..STEPS as usize {
                let (step, namespace) = (rest % 12 / 2, rest % 2);
                rest /= 12;
                let item = (namespace, step % 2);
                match step {
                    0..=2 => {
                        let due = seconds(now + step);
                        queue.set(&name(namespace), item, due);
                        list.insert(item, due);
                    }
                    3 => {
                        queue.remove(&name(namespace), &item);
                        list.remove(&item);
                    }
                    _ => {
                        let Some((_, next)) = queue.next(seconds(now)) else {
                            continue;
                        };
                        let next = *next;
                        let again = (step == 4).then(|| seconds(now + 2));
                        queue.had_turn(&name(next.0), &next, again);
                        list.remove(&next);
                        list.extend(again.map(|due| (next, due)));
                    }
                }
                let first = list.values().min().copied();
                let next = queue.next(seconds(now)).map(|(due, item)| (due, *item));
                assert_eq!(next.is_some(), first.is_some(), "{sequence}");
                if let Some((due, item)) = next {
                    assert_eq!(list.get(&item), Some(&due), "{sequence}");
                    let is_due = due <= seconds(now);
                    assert!(is_due || first == Some(due), "{sequence}");
                }
            }
            list.keys()
                .for_each(|item| queue.remove(&name(item.0), item));
            assert!(queue.namespaces.is_empty() && queue.later.is_empty());
            assert!(queue.ready.is_empty(), "{sequence}");
        }
    }
}
