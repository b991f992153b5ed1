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
mod tests;
