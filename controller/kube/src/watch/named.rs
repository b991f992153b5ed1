//! Secrets and ConfigMaps: their metadata is watched, and only referenced ones are read.
//!
//! A state machine without I/O: it is told what is named, what the metadata says and what was read, and answers what to
//! read next and what to pass on.

use std::collections::BTreeMap;

use sluice_translate::ObjectKey;

use super::references::Name;

/// Next step of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read it from the API server.
    Read(Name),
    /// It does not exist, or is not referred to any more.
    Drop(Name),
}

/// Everything that is named.
#[derive(Debug, Default)]
pub(super) struct Named {
    entries: BTreeMap<Name, Entry>,
    /// Named, and not yet read for the first time.
    first_reads: usize,
}

#[derive(Debug, Default)]
struct Entry {
    /// The version that was read last.
    read: Option<String>,
    /// Metadata seen since the read began.
    shown: Option<Shown>,
    /// A read is under way, or waits for its next attempt.
    reading: bool,
    /// True once a read has ended, successfully or not.
    answered: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Version(String),
    Gone,
}

impl Named {
    /// True if each name has been looked up at least once.
    pub(super) fn is_settled(&self) -> bool {
        self.first_reads == 0
    }

    /// True if it has been looked up, successfully or not.
    pub(super) fn is_answered(&self, name: &Name) -> bool {
        self.entries.get(name).is_some_and(|entry| entry.answered)
    }

    /// It is referred to now.
    pub(super) fn want(&mut self, name: Name) -> Option<Step> {
        if self.entries.contains_key(&name) {
            return None;
        }
        self.first_reads += 1;
        self.entries.insert(
            name.clone(),
            Entry {
                reading: true,
                ..Entry::default()
            },
        );
        Some(Step::Read(name))
    }

    /// It is not referred to any more.
    pub(super) fn unwant(&mut self, name: &Name) -> Option<Step> {
        let entry = self.entries.remove(name)?;
        self.first_reads -= usize::from(!entry.answered);
        Some(Step::Drop(name.clone()))
    }

    /// The metadata says that it exists in this version.
    pub(super) fn shown(&mut self, name: &Name, version: &str) -> Option<Step> {
        let entry = self.entries.get_mut(name)?;
        if entry.reading {
            entry.shown = Some(Shown::Version(version.to_owned()));
            return None;
        }
        entry.reading = entry.read.as_deref() != Some(version);
        entry.reading.then(|| Step::Read(name.clone()))
    }

    /// The metadata says that it is gone.
    pub(super) fn gone(&mut self, name: &Name) -> Option<Step> {
        let entry = self.entries.get_mut(name)?;
        entry.read = None;
        entry.shown = entry.reading.then_some(Shown::Gone);
        Some(Step::Drop(name.clone()))
    }

    /// It was read, in this version; `false`: it is not to be used.
    pub(super) fn read(&mut self, name: &Name, version: &str) -> (bool, Option<Step>) {
        let Some(entry) = self.answered(name) else {
            return (false, None);
        };
        entry.read = Some(version.to_owned());
        // What changed while it was being read may have come after the read.
        let shown = entry.shown.take();
        let is_gone = shown == Some(Shown::Gone);
        entry.reading = shown.is_some_and(|shown| shown != Shown::Version(version.to_owned()));
        (!is_gone, entry.reading.then(|| Step::Read(name.clone())))
    }

    /// It was looked up and is not there.
    pub(super) fn missing(&mut self, name: &Name) -> Option<Step> {
        let entry = self.answered(name)?;
        entry.read = None;
        // It may have come after it was looked up, and the metadata does not say so twice.
        entry.reading = matches!(entry.shown.take(), Some(Shown::Version(_)));
        let name = name.clone();
        Some(if entry.reading {
            Step::Read(name)
        } else {
            Step::Drop(name)
        })
    }

    /// It could not be read; what was read before stays. `true`: it is still wanted, so try again later.
    pub(super) fn failed(&mut self, name: &Name) -> bool {
        self.answered(name).is_some()
    }

    fn answered(&mut self, name: &Name) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(name)?;
        if !std::mem::replace(&mut entry.answered, true) {
            self.first_reads -= 1;
        }
        Some(entry)
    }
}

/// How often something is named, so that the last to let go can be told from the others.
#[derive(Debug, Default)]
pub(super) struct Uses(BTreeMap<Name, usize>);

impl Uses {
    /// `true` for the first.
    pub(super) fn add(&mut self, name: &Name) -> bool {
        let count = self.0.entry(name.clone()).or_default();
        *count += 1;
        *count == 1
    }

    /// `true` for the last.
    pub(super) fn remove(&mut self, name: &Name) -> bool {
        let Some(count) = self.0.get_mut(name) else {
            return false;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.0.remove(name);
        }
        last
    }
}

/// For messages.
pub(super) fn described((kind, key): &(sluice_translate::Kind, ObjectKey)) -> String {
    format!("{kind} {key}")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use sluice_translate::Kind;

    use super::*;

    fn name() -> Name {
        (Kind::Secret, ObjectKey::new("n", "cert"))
    }

    #[test]
    fn what_nobody_names_is_never_read() {
        let mut named = Named::default();
        assert_eq!(named.shown(&name(), "1"), None);
        assert_eq!(named.gone(&name()), None);
        assert!(named.is_settled());
    }

    #[test]
    fn a_change_is_read_once() {
        let mut named = Named::default();
        assert_eq!(named.want(name()), Some(Step::Read(name())));
        assert!(!named.is_settled());
        assert_eq!(named.shown(&name(), "1"), None, "it is being read");
        assert_eq!(named.read(&name(), "1"), (true, None));
        assert!(named.is_settled());
        assert_eq!(named.shown(&name(), "1"), None, "it has been read");
        assert_eq!(named.shown(&name(), "2"), Some(Step::Read(name())));
    }

    #[test]
    fn a_change_during_a_read_is_read_after_it() {
        let mut named = Named::default();
        named.want(name());
        named.shown(&name(), "2");
        assert_eq!(named.read(&name(), "1"), (true, Some(Step::Read(name()))));
        // Even if the metadata lags behind what is read, it ends.
        assert_eq!(named.read(&name(), "3"), (true, None));
    }

    #[test]
    fn a_failed_read_keeps_what_was_read_and_does_not_hold_up_the_start() {
        let mut named = Named::default();
        named.want(name());
        assert!(named.failed(&name()));
        assert!(named.is_settled());
        assert_eq!(named.read(&name(), "1"), (true, None), "tried again");
        assert_eq!(named.gone(&name()), Some(Step::Drop(name())));
    }

    #[test]
    fn what_is_read_after_nobody_names_it_goes_nowhere() {
        let mut named = Named::default();
        named.want(name());
        assert_eq!(named.unwant(&name()), Some(Step::Drop(name())));
        assert!(named.is_settled());
        assert_eq!(named.read(&name(), "1"), (false, None));
        assert!(!named.failed(&name()));
    }

    #[test]
    fn what_is_deleted_during_a_read_is_not_used() {
        let mut named = Named::default();
        named.want(name());
        named.gone(&name());
        assert_eq!(named.read(&name(), "1"), (false, Some(Step::Read(name()))));
        assert_eq!(named.missing(&name()), Some(Step::Drop(name())));
    }

    /// An API server with one object, and what is on its way from there.
    #[derive(Default)]
    struct World {
        named: Named,
        /// Its version, while it is there.
        object: Option<u32>,
        versions: u32,
        metadata: VecDeque<Option<u32>>,
        /// Reads that have not reached the API server, and answers that have not come back.
        reads: usize,
        answers: VecDeque<Option<u32>>,
        used: Option<u32>,
    }

    impl World {
        /// `false`: there is nothing of the kind to happen.
        fn happens(&mut self, what: u32) -> bool {
            match what {
                0 => {
                    self.versions += 1;
                    self.object = Some(self.versions);
                    self.metadata.push_back(self.object);
                }
                1 if self.object.take().is_some() => self.metadata.push_back(None),
                2 if self.reads > 0 => {
                    self.reads -= 1;
                    self.answers.push_back(self.object);
                }
                3 => {
                    return self
                        .metadata
                        .pop_front()
                        .map(|notifications| self.notifications(notifications))
                        .is_some();
                }
                4 => {
                    return self
                        .answers
                        .pop_front()
                        .map(|answer| self.answer(answer))
                        .is_some();
                }
                _ => return false,
            }
            true
        }

        fn notifications(&mut self, version: Option<u32>) {
            let step = match version {
                Some(version) => self.named.shown(&name(), &version.to_string()),
                None => self.named.gone(&name()),
            };
            self.take(step);
        }

        fn answer(&mut self, version: Option<u32>) {
            let step = match version {
                Some(version) => {
                    let (is_wanted, step) = self.named.read(&name(), &version.to_string());
                    self.used = if is_wanted { Some(version) } else { self.used };
                    step
                }
                None => self.named.missing(&name()),
            };
            self.take(step);
        }

        fn take(&mut self, step: Option<Step>) {
            match step {
                Some(Step::Read(_)) => self.reads += 1,
                Some(Step::Drop(_)) => self.used = None,
                None => {}
            }
        }
    }

    #[test]
    fn whatever_crosses_on_the_way_what_is_used_comes_to_be_what_is_there() {
        for order in 0..5_u32.pow(8) {
            let mut world = World::default();
            let step = world.named.want(name());
            world.take(step);
            for place in 0..8 {
                world.happens(order / 5_u32.pow(place) % 5);
            }
            while (2..5).any(|what| world.happens(what)) {}
            assert_eq!(world.used, world.object, "order {order}");
        }
    }

    #[test]
    fn the_last_use_counts() {
        let mut uses = Uses::default();
        assert!(uses.add(&name()) && !uses.add(&name()));
        assert!(!uses.remove(&name()) && uses.remove(&name()) && !uses.remove(&name()));
    }
}
