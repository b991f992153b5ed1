//! Progress of the streams, for those who wait for them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::publications::Publications;
use sluice_xds_delta::{Generation, Progress, Version};

/// After this a stream that answers nothing, or asks for no routes, decides nothing any more, as long as others do.
const LOST: Duration = Duration::from_secs(10);

/// Every stream that is open.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) progress: BTreeMap<u64, Progress>,
    /// Their clients, once they have said who they are.
    pub(crate) clients: BTreeMap<u64, Client>,
    /// Streams that did not answer in time: until they have caught up with this, nobody waits for them again.
    late: BTreeMap<u64, Late>,
    /// Since when streams have listeners and no routes. A data plane asks for them at once; somebody who reads listeners never does.
    without_routes: BTreeMap<u64, Instant>,
    /// Counts how often refusals came and went.
    pub(crate) revision: u64,
    /// When was published what they answer.
    pub(crate) published: Publications,
}

/// The client of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) node: String,
    pub(crate) version: String,
    pub(crate) connected: Instant,
}

/// A stream that others are not to be held up by.
#[derive(Clone, Copy, Debug)]
struct Late {
    behind: Generation,
    since: Instant,
}

impl Streams {
    /// True if all streams that are open have answered.
    pub(crate) fn are_settled(&self, generation: Generation) -> bool {
        self.progress
            .values()
            .all(|progress| progress.settled >= generation)
    }

    /// The same without those that are late.
    pub(crate) fn are_settled_in_time(&self, generation: Generation) -> bool {
        let mut streams = self.progress.iter();
        streams.all(|(id, progress)| progress.settled >= generation || self.late.contains_key(id))
    }

    /// A wait for a generation is over: whoever has not answered is late.
    pub(crate) fn note_late(&mut self, generation: Generation, now: Instant) {
        for (id, progress) in &self.progress {
            if progress.settled < generation {
                let late = Late {
                    behind: generation,
                    since: now,
                };
                self.late.entry(*id).or_insert(late);
            }
        }
    }

    /// Notes progress of a stream; true if there is some.
    pub(crate) fn advance(&mut self, id: u64, progress: Progress, now: Instant) -> bool {
        let has_caught_up = |late: &Late| progress.settled >= late.behind;
        if self.late.get(&id).is_some_and(has_caught_up) {
            self.late.remove(&id);
        }
        if progress.has_listeners && !progress.has_routes {
            self.without_routes.entry(id).or_insert(now);
        } else {
            self.without_routes.remove(&id);
        }
        let has_advanced = self.progress.insert(id, progress) != Some(progress);
        if has_advanced {
            self.note_answers(now);
        }
        has_advanced
    }

    /// A generation is there. Streams for which nothing is new have perhaps answered it already.
    pub(crate) fn note_published(&mut self, generation: Generation, now: Instant) {
        self.published.note(generation, now);
        self.note_answers(now);
    }

    /// Notes of publications that all streams have answered them.
    fn note_answers(&mut self, now: Instant) {
        let settled = self.progress.values().map(|progress| progress.settled);
        if let Some(settled) = settled.min() {
            self.published.answered(settled, now);
        }
    }

    /// A stream has ended.
    pub(crate) fn close(&mut self, id: u64, now: Instant) {
        self.progress.remove(&id);
        self.clients.remove(&id);
        self.late.remove(&id);
        self.without_routes.remove(&id);
        self.note_answers(now);
    }

    fn is_lost(&self, id: u64, now: Instant) -> bool {
        let late = self.late.get(&id).map(|late| late.since);
        let without_routes = self.without_routes.get(&id).copied();
        let mut since = late.into_iter().chain(without_routes);
        since.any(|since| now.duration_since(since) >= LOST)
    }

    /// Data planes whose answers count: all of them, or those that are not lost, if there are any.
    fn deciding(
        &self,
        is_one: impl Fn(&Progress) -> bool,
        now: Instant,
    ) -> impl Iterator<Item = &Progress> {
        let all = self
            .progress
            .iter()
            .filter(move |(_, progress)| is_one(progress));
        let (lost, present): (Vec<_>, Vec<_>) = all.partition(|(id, _)| self.is_lost(**id, now));
        let counted = if present.is_empty() { lost } else { present };
        counted.into_iter().map(|(_, progress)| progress)
    }

    /// True if some data plane is connected, and all of them have answered, also about routes.
    pub(crate) fn have_decided(&self, generation: Generation, now: Instant) -> bool {
        let is_one = |progress: &Progress| progress.has_listeners || progress.has_routes;
        let mut data_planes = self.deciding(is_one, now).peekable();
        data_planes.peek().is_some()
            && data_planes.all(|progress| progress.has_routes && progress.settled >= generation)
    }

    /// Result of a probe on all data planes; `None` when some have not answered yet.
    pub(crate) fn verdict(&self, version: Version, now: Instant) -> Option<bool> {
        let mut all = None;
        // Others would never hear of it: a listener leads to it.
        for progress in self.deciding(|progress| progress.has_listeners, now) {
            let probed = progress
                .probes
                .into_iter()
                .flatten()
                .find(|probed| probed.version == version)?;
            all = Some(all.unwrap_or(true) && probed.is_accepted);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use sluice_xds_delta::Probed;

    use super::*;

    fn streams(all: &[Progress]) -> Streams {
        Streams {
            progress: (0..).zip(all.iter().copied()).collect(),
            revision: 0,
            ..Streams::default()
        }
    }

    #[test]
    fn nothing_is_decided_before_a_data_plane_has_its_routes() {
        let known = Generation::default();
        let listening = Progress {
            has_listeners: true,
            ..Progress::default()
        };
        let complete = Progress {
            has_routes: true,
            ..listening
        };
        assert!(!streams(&[]).have_decided(known, Instant::now()));
        assert!(
            !streams(&[Progress::default()]).have_decided(known, Instant::now()),
            "no data plane"
        );
        assert!(!streams(&[listening, complete]).have_decided(known, Instant::now()));
        assert!(streams(&[complete, Progress::default()]).have_decided(known, Instant::now()));
        assert!(!streams(&[complete]).have_decided(known.next(), Instant::now()));
    }

    #[test]
    fn one_data_plane_that_refuses_is_enough_and_all_are_waited_for() {
        let (version, other) = (Version::hash(b"probe"), Version::hash(b"other"));
        let said = |version, is_accepted| Progress {
            has_listeners: true,
            probes: [
                None,
                Some(Probed {
                    version,
                    is_accepted,
                }),
            ],
            ..Progress::default()
        };
        assert_eq!(streams(&[]).verdict(version, Instant::now()), None);
        assert_eq!(
            streams(&[said(version, true), said(other, true)]).verdict(version, Instant::now()),
            None
        );
        assert_eq!(
            streams(&[said(version, true), said(version, false)]).verdict(version, Instant::now()),
            Some(false)
        );
        assert_eq!(
            streams(&[said(version, true), Progress::default()]).verdict(version, Instant::now()),
            Some(true)
        );
    }

    /// A data plane that has answered everything up to a generation.
    fn at(settled: Generation) -> Progress {
        Progress {
            settled,
            has_listeners: true,
            has_routes: true,
            ..Progress::default()
        }
    }

    #[test]
    fn a_stream_that_is_late_is_not_waited_for_until_it_has_caught_up() {
        let (first, now) = (Generation::default().next(), Instant::now());
        let second = first.next();
        let mut streams = streams(&[at(first), at(Generation::default())]);
        assert!(!streams.are_settled_in_time(first));
        streams.note_late(first, now);
        assert!(streams.are_settled_in_time(first) && !streams.are_settled(first));
        assert!(
            !streams.are_settled_in_time(second),
            "the other one is waited for"
        );
        streams.advance(1, at(first), now);
        streams.advance(0, at(second), now);
        assert!(
            !streams.are_settled_in_time(second),
            "it is waited for again"
        );
    }

    #[test]
    fn a_lost_data_plane_decides_only_when_there_is_no_other() {
        let (first, now) = (Generation::default().next(), Instant::now());
        let (soon, later) = (now + LOST / 2, now + LOST);
        let mut streams = streams(&[at(first), at(Generation::default())]);
        streams.note_late(first, now);
        assert!(!streams.have_decided(first, soon));
        assert!(streams.have_decided(first, later));
        streams.close(0, now);
        assert!(!streams.have_decided(first, later), "it alone is left");
        streams.advance(1, at(first), now);
        assert!(streams.have_decided(first, later));
    }

    #[test]
    fn who_reads_listeners_and_no_routes_holds_decisions_up_for_a_while_only() {
        let (first, now) = (Generation::default().next(), Instant::now());
        let mut streams = streams(&[at(first)]);
        let reader = Progress {
            has_routes: false,
            ..at(first)
        };
        streams.advance(1, reader, now);
        assert!(!streams.have_decided(first, now + LOST / 2));
        streams.advance(1, reader, now + LOST / 2);
        assert!(streams.have_decided(first, now + LOST));
        streams.close(0, now);
        assert!(!streams.have_decided(first, now + LOST), "no data plane");
        streams.advance(1, at(first), now);
        assert!(streams.have_decided(first, now), "it has asked for routes");
    }

    #[test]
    fn a_lost_data_plane_keeps_no_verdict_back() {
        let (version, now) = (Version::hash(b"probe"), Instant::now());
        let first = Generation::default().next();
        let refused = Probed {
            version,
            is_accepted: false,
        };
        let answered = Progress {
            probes: [Some(refused), None],
            ..at(first)
        };
        let mut streams = streams(&[answered, at(Generation::default())]);
        streams.note_late(first, now);
        assert_eq!(streams.verdict(version, now), None);
        assert_eq!(streams.verdict(version, now + LOST), Some(false));
    }
}
