//! Search for rejected items among many: group testing by bisection.
//!
//! ```text
//!   rejected: [a b c d e f g h]
//!   tried:    [a b c d] accepted, so one of [e f g h] is at fault: [e f] is tried together with the accepted ones ...
//! ```
//!
//! Accepted items stay in every candidate, so two that only clash with each other are found, too: the second one is at fault.
//!
//! Of a namespace with [`FEW`] items at fault no more are looked for: those of it that are undecided are set aside together, so that
//! others wait for its faults no longer than for a few. With `k` namespaces at fault among `n` items, at most `k (2 FEW log2(n) + 1) + 1`
//! candidates are tried.
//!
//! Pure: it returns the candidate to try, and takes the result.

use std::mem::take;
use std::sync::Arc;

/// Items at fault after which the rest of their namespace is set aside.
pub(super) const FEW: usize = 3;

/// An item that may be at fault.
#[derive(Clone, Debug)]
pub(super) struct Suspect<T> {
    pub(super) item: T,
    /// The namespace that alone answers for it; `None`: it is judged only by itself.
    pub(super) namespace: Option<Arc<str>>,
}

/// Why an item is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A data plane refuses it with this message.
    Refused(String),
    /// A few others of this namespace were refused, and it was not tried by itself.
    Namespace(Arc<str>),
}

/// A search among some that were refused together.
#[derive(Debug)]
pub(super) struct Search<T> {
    accepted: Vec<T>,
    /// Number of accepted items that [`Search::take_decided`] has returned.
    taken: usize,
    refused: Vec<(Suspect<T>, String)>,
    /// Undecided, of namespaces at fault.
    set_aside: Vec<Suspect<T>>,
    /// The last is looked at first.
    groups: Vec<Group<T>>,
    /// Items at fault after which a namespace is set aside.
    few: usize,
}

#[derive(Debug)]
struct Group<T> {
    members: Vec<Suspect<T>>,
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
    pub(super) fn among(members: Vec<Suspect<T>>, message: &str) -> Self {
        Search::new(members, message, State::Rejections)
    }

    /// The same where it is not sure that they are why: all of them together are tried first, and if that is accepted none is at
    /// fault.
    pub(super) fn among_suspects(members: Vec<Suspect<T>>, message: &str) -> Self {
        Search::new(members, message, State::Unknown)
    }

    /// The same without setting any aside: each is decided.
    pub(super) fn of_each(members: Vec<Suspect<T>>) -> Self {
        Search {
            few: usize::MAX,
            ..Search::among_suspects(members, "")
        }
    }

    fn new(members: Vec<Suspect<T>>, message: &str, state: State) -> Self {
        let group = Group {
            members,
            message: message.to_owned(),
            state,
        };
        Search {
            accepted: Vec::new(),
            taken: 0,
            refused: Vec::new(),
            set_aside: Vec::new(),
            groups: vec![group],
            few: FEW,
        }
    }

    /// Next candidate; `None` when the search is complete.
    pub(super) fn candidate(&mut self) -> Option<Vec<T>> {
        loop {
            let mut group = self.groups.pop()?;
            if group.state != State::Rejections {
                let members = group.members.iter().map(|suspect| &suspect.item);
                let candidate = self.accepted.iter().chain(members).cloned().collect();
                self.groups.push(group);
                return Some(candidate);
            }
            if group.members.len() <= 1 {
                if let Some(member) = group.members.pop() {
                    self.refuse(member, group.message);
                }
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
        let Some(group) = self.groups.pop() else {
            return;
        };
        let rest = self
            .groups
            .last_mut()
            .filter(|rest| rest.state == State::Rest);
        match answer {
            Ok(()) => {
                let members = group.members.into_iter().map(|suspect| suspect.item);
                self.accepted.extend(members);
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

    fn refuse(&mut self, suspect: Suspect<T>, message: String) {
        let namespace = suspect.namespace.clone();
        self.refused.push((suspect, message));
        let of_it = |(other, _): &&(Suspect<T>, String)| other.namespace == namespace;
        if namespace.is_some() && self.refused.iter().filter(of_it).count() >= self.few {
            self.set_aside(namespace.as_deref());
        }
    }

    /// Sets the undecided members of a namespace aside. When one is found at fault, no other group is known to be refused, so all that are left
    /// are one group, and often one candidate shows that nobody else is at fault.
    fn set_aside(&mut self, namespace: Option<&str>) {
        let groups = take(&mut self.groups);
        let message = groups.last().map(|group| group.message.clone());
        let undecided = groups.into_iter().rev().flat_map(|group| group.members);
        let (aside, members): (Vec<_>, Vec<_>) =
            undecided.partition(|suspect| suspect.namespace.as_deref() == namespace);
        self.set_aside.extend(aside);
        if let Some(message) = message.filter(|_| !members.is_empty()) {
            self.groups.push(Group {
                members,
                message,
                state: State::Unknown,
            });
        }
    }

    /// Items that were accepted since the last call, and those that are at fault.
    pub(super) fn take_decided(&mut self) -> (Vec<T>, Vec<(T, String)>) {
        let refused = take(&mut self.refused).into_iter();
        let refused = refused.map(|(suspect, message)| (suspect.item, message));
        // They stay in candidates.
        let accepted = self.accepted.iter().skip(self.taken).cloned().collect();
        self.taken = self.accepted.len();
        (accepted, refused.collect())
    }

    /// The culprits, each with the message, and those that were set aside.
    pub(super) fn refused(self) -> Vec<(T, Reason)> {
        let refused = self.refused.into_iter();
        let refused = refused.map(|(suspect, message)| (suspect.item, Reason::Refused(message)));
        let aside = self
            .set_aside
            .into_iter()
            .filter_map(|suspect| Some((suspect.item, Reason::Namespace(suspect.namespace?))));
        refused.chain(aside).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

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
        result(Search::among(suspects(0..all), "all"), is_accepted)
    }

    fn suspects(items: impl Iterator<Item = u64>) -> Vec<Suspect<u64>> {
        let suspect = |item| Suspect {
            item,
            namespace: None,
        };
        items.map(suspect).collect()
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
            let among = || Search::among_suspects(suspects(0..all), "all");
            assert_eq!(result(among(), |_| true), (BTreeSet::new(), 1));
            let is_accepted = |candidate: &BTreeSet<u64>| !candidate.contains(&70);
            let expected = if all > 70 {
                [70].into()
            } else {
                BTreeSet::new()
            };
            assert_eq!(result(among(), is_accepted).0, expected);
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
        let mut search = Search::among(suspects(0..2), "both");
        assert_eq!(search.candidate(), Some(vec![0]));
        search.answer(Err("0 alone".to_owned()));
        assert_eq!(search.candidate(), Some(vec![1]));
        search.answer(Ok(()));
        assert_eq!(search.candidate(), None);
        let refused = Reason::Refused("0 alone".to_owned());
        assert_eq!(search.refused(), [(0, refused)]);
    }

    /// Items of namespaces, of which some have any number of items at fault, anywhere.
    #[test]
    fn candidates_are_bounded_by_namespaces_at_fault_and_others_are_accepted() {
        let mut random = Random(3);
        for round in 0..2000 {
            let (all, namespaces) = (1 + random.below(400), 1 + random.below(20));
            let mut owners: Vec<u64> = (0..all).map(|_| random.below(namespaces)).collect();
            if round % 2 == 0 {
                owners.sort_unstable();
            }
            let guilty: BTreeSet<u64> = (0..1 + random.below(4))
                .map(|_| random.below(namespaces))
                .collect();
            let share = 1 + random.below(10);
            let owned: Vec<(u64, u64)> = (0..all).zip(owners).collect();
            let at_fault: BTreeMap<u64, u64> = owned
                .iter()
                .filter(|(_, owner)| guilty.contains(owner) && random.below(10) < share)
                .copied()
                .collect();
            let suspect = |(item, owner): &(u64, u64)| Suspect {
                item: *item,
                namespace: Some(owner.to_string().into()),
            };
            let members = owned.iter().map(suspect).collect();
            let mut search = Search::among_suspects(members, "all");
            let mut tried = 0;
            while let Some(candidate) = search.candidate() {
                tried += 1;
                let is_bad = candidate.iter().any(|item| at_fault.contains_key(item));
                search.answer(if is_bad { Err("no".to_owned()) } else { Ok(()) });
            }
            let at_once = usize::try_from(all.next_power_of_two().ilog2()).unwrap();
            let of_fault = at_fault.values().collect::<BTreeSet<_>>().len();
            let bound = of_fault * (2 * FEW * at_once + 1) + 1;
            assert!(
                tried <= bound,
                "{tried} > {bound}: {all} {namespaces} {at_fault:?}"
            );
            check(search, &owned, &at_fault);
        }
    }

    fn check(search: Search<u64>, owned: &[(u64, u64)], at_fault: &BTreeMap<u64, u64>) {
        let accepted: BTreeSet<u64> = search.accepted.iter().copied().collect();
        let mut refused: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        for (item, reason) in search.refused() {
            let namespace = match reason {
                Reason::Refused(_) => None,
                Reason::Namespace(namespace) => Some(namespace.parse().unwrap()),
            };
            assert_eq!(refused.insert(item, namespace), None);
        }
        for (item, owner) in owned {
            match refused.get(item) {
                None => assert!(accepted.contains(item) && !at_fault.contains_key(item)),
                Some(None) => assert!(at_fault.contains_key(item)),
                Some(Some(of)) => {
                    let found = |it: &&u64| refused.get(*it) == Some(&None);
                    let of_it = at_fault.iter().filter(|(_, other)| *other == owner);
                    let count = of_it.map(|(item, _)| item).filter(found).count();
                    assert_eq!((of, count), (owner, FEW));
                }
            }
        }
        assert_eq!(accepted.len() + refused.len(), owned.len());
    }

    #[test]
    fn each_is_decided_where_none_is_set_aside() {
        let suspect = |item| Suspect {
            item,
            namespace: Some("one".into()),
        };
        let mut search = Search::of_each((0..100).map(suspect).collect());
        let (mut accepted, mut refused) = (BTreeSet::new(), BTreeSet::new());
        while let Some(candidate) = search.candidate() {
            let is_bad = candidate.iter().any(|item| item % 3 == 0);
            search.answer(if is_bad { Err("no".to_owned()) } else { Ok(()) });
            let (good, bad) = search.take_decided();
            assert!(good.into_iter().all(|item| accepted.insert(item)));
            refused.extend(bad.into_iter().map(|(item, _)| item));
        }
        refused.extend(search.refused().into_iter().map(|(item, _)| item));
        assert!(refused.iter().all(|item| item % 3 == 0));
        assert_eq!((accepted.len(), refused.len()), (66, 34));
    }
}
