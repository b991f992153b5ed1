//! Room on the page for series with labels that tenants write. Those of one namespace never take that of all others.
//!
//! A namespace with little may use all of it. One with more may use three quarters, and of these no more than it leaves to
//! others: a first one gets three eighths, and the last quarter is for namespaces with little.

use std::collections::HashMap;

use super::label::Label;

/// A namespace with less than this part of the room has little.
const LITTLE: usize = 256;
/// So has one with a single label set of less than this part. Histograms are long.
const SINGLE: usize = 64;

/// Bytes of the page, by namespace.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    used: usize,
    by_namespace: HashMap<Label, usize>,
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        Room {
            most,
            used: 0,
            by_namespace: HashMap::new(),
        }
    }

    /// Takes room for a label set that costs so much. False: there is not enough, and nothing is taken.
    pub(super) fn take(&mut self, namespace: &Label, cost: usize) -> bool {
        let before = self.by_namespace.get(namespace).copied();
        let own = before.unwrap_or_default() + cost;
        let is_single = own == cost && cost <= self.most / SINGLE;
        let has_little = is_single || own <= self.most / LITTLE;
        let open = if has_little {
            self.most
        } else {
            self.most / 4 * 3
        };
        let left = open.saturating_sub(self.used);
        let needed = if has_little { cost } else { own };
        if needed > left {
            return false;
        }
        self.used += cost;
        self.by_namespace.insert(namespace.clone(), own);
        true
    }

    /// Bytes that are taken.
    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn clear(&mut self) {
        *self = Room::new(self.most);
    }

    pub(super) fn give_back(&mut self, namespace: &Label, cost: usize) {
        self.used = self.used.saturating_sub(cost);
        if let Some(own) = self.by_namespace.get_mut(namespace) {
            *own = own.saturating_sub(cost);
            if *own == 0 {
                self.by_namespace.remove(namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(room: &mut Room, namespace: &str) -> usize {
        let namespace = Label::of(namespace);
        (0..2_000).filter(|_| room.take(&namespace, 1)).count()
    }

    #[test]
    fn however_many_namespaces_take_all_they_can_each_has_some() {
        let mut room = Room::new(1_024);
        let taken: Vec<usize> = (0..60)
            .map(|number| fill(&mut room, &format!("n{number}")))
            .collect();
        assert_eq!(taken.first(), Some(&384), "three eighths");
        assert!(taken.iter().all(|taken| *taken >= 4), "{taken:?}");
        assert!(taken.iter().sum::<usize>() <= 1_024);
    }

    #[test]
    fn what_is_given_back_is_there_for_others() {
        let mut room = Room::new(1_024);
        let first = fill(&mut room, "a");
        fill(&mut room, "b");
        room.give_back(&Label::of("a"), first);
        assert!(fill(&mut room, "b") > 0);
        assert!(room.take(&Label::of("a"), 1));
    }

    #[test]
    fn a_single_label_set_is_little_even_if_it_is_long() {
        let mut room = Room::new(1_024);
        for number in 0..6 {
            fill(&mut room, &format!("greedy{number}"));
        }
        let long = 1_024 / SINGLE;
        for number in 0..8 {
            let namespace = Label::of(&format!("n{number}"));
            assert!(room.take(&namespace, long), "{number}");
            assert!(!room.take(&namespace, long), "{number}");
        }
        assert!(!room.take(&Label::of("n8"), long + 1));
    }
}
