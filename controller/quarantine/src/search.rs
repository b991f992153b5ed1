//! Search for rejected items among many: group testing by bisection.
//!
//! ```text
//!   rejected: [a b c d e f g h]
//!   tried:    [a b c d] accepted, so one of [e f g h] is at fault: [e f] is tried together with the accepted ones ...
//! ```
//!
//! Accepted items stay in every candidate, so two that only clash with each other are found, too: the second one is at fault.
//! With `k` at fault among `n`, at most `2 k log2(n) + 1` candidates are tried.
//!
//! Pure: it returns the candidate to try, and takes the result.

/// A search among some that were refused together.
#[derive(Debug)]
pub(super) struct Search<T> {
    accepted: Vec<T>,
    refused: Vec<(T, String)>,
    /// The last is looked at first.
    groups: Vec<Group<T>>,
}

#[derive(Debug)]
struct Group<T> {
    members: Vec<T>,
    /// Message of the rejection of this group, or of the group that it is the rest of.
    message: String,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Together with what was accepted it is refused.
    Rejections,
    /// The other half of a refused group is tried before: if that is accepted, this one is at fault.
    Rest,
    Unknown,
}

impl<T: Clone> Search<T> {
    /// A search among members that were rejected together with this message. The oldest should come first.
    pub(super) fn among(members: Vec<T>, message: &str) -> Self {
        Search::new(members, message, State::Rejections)
    }

    /// The same where it is not sure that they are why: all of them together are tried first, and if that is accepted none is at
    /// fault.
    pub(super) fn among_suspects(members: Vec<T>, message: &str) -> Self {
        Search::new(members, message, State::Unknown)
    }

    fn new(members: Vec<T>, message: &str, state: State) -> Self {
        let group = Group {
            members,
            message: message.to_owned(),
            state,
        };
        Search {
            accepted: Vec::new(),
            refused: Vec::new(),
            groups: vec![group],
        }
    }

    /// Next candidate; `None` when the search is complete.
    pub(super) fn candidate(&mut self) -> Option<Vec<T>> {
        loop {
            let mut group = self.groups.pop()?;
            if group.state != State::Rejections {
                let candidate = self
                    .accepted
                    .iter()
                    .chain(&group.members)
                    .cloned()
                    .collect();
                self.groups.push(group);
                return Some(candidate);
            }
            if group.members.len() <= 1 {
                self.refused
                    .extend(group.members.pop().map(|member| (member, group.message)));
                continue;
            }
            let rest = group.members.split_off(group.members.len() / 2);
            self.groups.push(Group {
                members: rest,
                message: group.message.clone(),
                state: State::Rest,
            });
            self.groups.push(Group {
                state: State::Unknown,
                ..group
            });
        }
    }

    /// Takes the result of the last candidate.
    pub(super) fn answer(&mut self, answer: Result<(), String>) {
        let Some(mut group) = self.groups.pop() else {
            return;
        };
        let rest = self
            .groups
            .last_mut()
            .filter(|rest| rest.state == State::Rest);
        match answer {
            Ok(()) => {
                self.accepted.append(&mut group.members);
                if let Some(rest) = rest {
                    rest.state = State::Rejections;
                }
            }
            Err(message) => {
                if let Some(rest) = rest {
                    rest.state = State::Unknown;
                }
                self.groups.push(Group {
                    message,
                    state: State::Rejections,
                    ..group
                });
            }
        }
    }

    /// The culprits, each with the message.
    pub(super) fn refused(self) -> Vec<(T, String)> {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A generator that needs no seed of its own.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    /// Items at fault, and the number of candidates that were tried.
    fn search(all: u64, is_accepted: impl Fn(&BTreeSet<u64>) -> bool) -> (BTreeSet<u64>, usize) {
        result(Search::among((0..all).collect(), "all"), is_accepted)
    }

    fn result(
        mut search: Search<u64>,
        is_accepted: impl Fn(&BTreeSet<u64>) -> bool,
    ) -> (BTreeSet<u64>, usize) {
        let mut tried = 0;
        while let Some(candidate) = search.candidate() {
            tried += 1;
            let candidate: BTreeSet<u64> = candidate.into_iter().collect();
            search.answer(if is_accepted(&candidate) {
                Ok(())
            } else {
                Err(format!("{candidate:?}"))
            });
        }
        (
            search
                .refused()
                .into_iter()
                .map(|(member, _)| member)
                .collect(),
            tried,
        )
    }

    #[test]
    fn exactly_those_at_fault_are_found_with_few_candidates() {
        let mut random = Random(14);
        for _ in 0..200 {
            let all = 1 + random.below(500);
            let count = 1 + random.below(12.min(all));
            let at_fault: BTreeSet<u64> = (0..count).map(|_| random.below(all)).collect();
            let (found, tried) = search(all, |candidate| candidate.is_disjoint(&at_fault));
            assert_eq!(found, at_fault);
            let depth = usize::try_from(all.next_power_of_two().ilog2()).unwrap();
            assert!(
                tried <= 2 * at_fault.len() * depth + 1,
                "{tried} for {} of {all}",
                at_fault.len()
            );
        }
    }

    #[test]
    fn one_that_is_refused_alone_needs_no_candidate() {
        assert_eq!(search(1, |_| false), ([0].into(), 0));
        assert!(search(1024, |candidate| !candidate.contains(&700)).1 <= 20);
    }

    #[test]
    fn of_suspects_that_are_accepted_none_is_at_fault() {
        for all in [0, 1, 2, 100] {
            let suspects = || Search::among_suspects((0..all).collect(), "all");
            assert_eq!(result(suspects(), |_| true), (BTreeSet::new(), 1));
            let is_accepted = |candidate: &BTreeSet<u64>| !candidate.contains(&70);
            let expected = if all > 70 {
                [70].into()
            } else {
                BTreeSet::new()
            };
            assert_eq!(result(suspects(), is_accepted).0, expected);
        }
    }

    #[test]
    fn when_all_are_at_fault_all_are_found() {
        let (found, tried) = search(64, BTreeSet::is_empty);
        assert_eq!(found.len(), 64);
        assert!(tried < 128, "{tried}");
    }

    #[test]
    fn of_two_that_clash_the_second_is_at_fault() {
        let mut random = Random(4);
        for _ in 0..200 {
            let all = 2 + random.below(100);
            let (one, other) = (random.below(all), random.below(all));
            if one == other {
                continue;
            }
            let clash =
                |candidate: &BTreeSet<u64>| candidate.contains(&one) && candidate.contains(&other);
            assert_eq!(
                search(all, |candidate| !clash(candidate)).0,
                [one.max(other)].into()
            );
        }
    }

    #[test]
    fn what_is_said_is_what_was_said_of_the_smallest_group() {
        let mut search = Search::among(vec!['a', 'b'], "both");
        assert_eq!(search.candidate(), Some(vec!['a']));
        search.answer(Err("a alone".to_owned()));
        assert_eq!(search.candidate(), Some(vec!['b']));
        search.answer(Ok(()));
        assert_eq!(search.candidate(), None);
        assert_eq!(search.refused(), [('a', "a alone".to_owned())]);
    }
}
