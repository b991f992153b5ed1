//! Secrets and ConfigMaps: their metadata is watched, and only what somebody names is read.
//!
//! A state machine without I/O: it is told what is named, what the metadata says and what was read, and answers what to
//! read next and what to pass on.

use std::collections::BTreeMap;

use sluice_translate::ObjectKey;

use super::references::Name;

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read it from the API server.
    Read(Name),
    /// It is not there, or nobody names it any more.
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
    /// What the metadata has shown since the read began.
    shown: Option<Shown>,
    /// A read is under way, or waits for its next attempt.
    reading: bool,
    /// Whether a read has ended, well or not.
    answered: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Version(String),
    Gone,
}

impl Named {
    /// Whether each name has been looked up at least once.
    pub(super) fn is_settled(&self) -> bool {
        self.first_reads == 0
    }

    /// Somebody names it now.
    pub(super) fn want(&mut self, name: Name) -> Option<Step> {
        if self.entries.contains_key(&name) {
            return None;
        }
        self.first_reads += 1;
        self.entries.insert(name.clone(), Entry { reading: true, ..Entry::default() });
        Some(Step::Read(name))
    }

    /// Nobody does any more.
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
        let Some(entry) = self.answered(name) else { return (false, None) };
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
        (entry.read, entry.reading) = (None, false);
        Some(Step::Drop(name.clone()))
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
        let Some(count) = self.0.get_mut(name) else { return false };
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
    use super::*;
    use sluice_translate::Kind;

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

    #[test]
    fn the_last_use_counts() {
        let mut uses = Uses::default();
        assert!(uses.add(&name()) && !uses.add(&name()));
        assert!(!uses.remove(&name()) && uses.remove(&name()) && !uses.remove(&name()));
    }
}
