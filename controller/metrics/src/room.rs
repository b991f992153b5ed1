//! Room for series with labels that tenants write. Those of one namespace never take that of all others.
//!
//! A namespace with little may use all of it. One with more may use three quarters, and of these no more than it leaves to
//! others: a first one gets three eighths, and the last quarter is for namespaces with little.

use std::collections::HashMap;

use super::label::Label;

/// Bytes of the labels in one table: 10,000 label sets of 100 bytes.
pub(super) const ROOM: usize = 3_000_000;
/// Bytes that a series costs beside its labels: the name of the metric, and those of its labels.
const OVERHEAD: usize = 200;
/// A namespace with less than this part of the room has little: 39 label sets of 100 bytes.
const LITTLE: usize = 256;

/// Bytes of labels, by namespace.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    used: usize,
    by_namespace: HashMap<Label, usize>,
}

/// Bytes that a series with these labels takes.
pub(super) fn cost(labels: &[Label]) -> usize {
    let text: usize = labels.iter().map(|label| label.as_str().len()).sum();
    OVERHEAD + text
}

impl Room {
    pub(super) fn new(most: usize) -> Self {
        Room {
            most,
            used: 0,
            by_namespace: HashMap::new(),
        }
    }

    /// Takes room for a series that costs so much. False: there is not enough, and nothing is taken.
    pub(super) fn take(&mut self, namespace: &Label, cost: usize) -> bool {
        let before = self.by_namespace.get(namespace).copied();
        let own = before.unwrap_or_default() + cost;
        let has_little = own <= self.most / LITTLE;
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
}
