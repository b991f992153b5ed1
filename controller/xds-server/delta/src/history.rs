//! Recent changes, so that a push costs what changed and not what there is.

use std::collections::VecDeque;

use sluice_xds_resource::{Name, ResourceType};

/// Length of the history. A client that is further behind is compared with everything.
const LONGEST: usize = 50_000;

type Changes = Vec<(ResourceType, Name)>;

/// Counts what was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation(u64);

impl Generation {
    /// The one behind it.
    #[must_use]
    pub fn next(self) -> Self {
        Generation(self.0 + 1)
    }

    /// Counted from the start.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    pub(crate) fn previous(self) -> Self {
        Generation(self.0.saturating_sub(1))
    }
}

/// The changes of the last generations, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    entries: VecDeque<(Generation, Changes)>,
    changes: usize,
    /// Changes up to here are forgotten.
    forgotten: Generation,
}

impl History {
    pub(crate) fn push(&mut self, generation: Generation, changes: Changes) {
        self.changes += changes.len();
        self.entries.push_back((generation, changes));
        while self.changes > LONGEST {
            let Some((generation, changes)) = self.entries.pop_front() else {
                break;
            };
            self.changes -= changes.len();
            self.forgotten = generation;
        }
    }

    /// Changes after a generation; `None` when they are no longer known.
    pub(crate) fn since(
        &self,
        cursor: Generation,
    ) -> Option<impl Iterator<Item = &(ResourceType, Name)>> {
        let first = self
            .entries
            .partition_point(|(generation, _)| *generation <= cursor);
        (cursor >= self.forgotten)
            .then(|| self.entries.range(first..).flat_map(|(_, changes)| changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: usize) -> (ResourceType, Name) {
        (ResourceType::Cluster, number.to_string().into())
    }

    #[test]
    fn a_cursor_sees_what_came_after_it() {
        let mut history = History::default();
        let generations: Vec<_> =
            std::iter::successors(Some(Generation::default()), |g| Some(g.next()))
                .take(4)
                .collect();
        for (number, generation) in generations.iter().enumerate().skip(1) {
            history.push(*generation, vec![change(number)]);
        }
        let since = |number: usize| {
            history
                .since(generations[number])
                .map(|changes| changes.cloned().collect::<Vec<_>>())
        };
        assert_eq!(since(0), Some(vec![change(1), change(2), change(3)]));
        assert_eq!(since(2), Some(vec![change(3)]));
        assert_eq!(since(3), Some(vec![]));
    }

    #[test]
    fn a_cursor_too_far_behind_sees_nothing() {
        let mut history = History::default();
        let first = Generation::default().next();
        history.push(first, (0..LONGEST).map(change).collect());
        assert!(history.since(Generation::default()).is_some());
        history.push(first.next(), vec![change(0)]);
        assert!(history.since(Generation::default()).is_none());
        assert_eq!(history.since(first).map(Iterator::count), Some(1));
    }
}
