//! Progress of the streams, for those who wait for them.

use std::collections::BTreeMap;

use crate::history::Generation;
use crate::version::Version;

/// Progress of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Everything up to here is answered.
    pub(crate) settled: Generation,
    /// It asks for listeners.
    pub(crate) has_listeners: bool,
    /// It asks for routes.
    pub(crate) has_routes: bool,
    /// Its last answers about probes: of routes, and of the listener with TLS.
    pub(crate) probes: [Option<Probed>; 2],
}

/// ACK or NACK of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probed {
    pub(crate) version: Version,
    pub(crate) is_accepted: bool,
}

/// Every stream that is open.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) progress: BTreeMap<u64, Progress>,
    /// Names and versions of their clients, once they have said them.
    pub(crate) clients: BTreeMap<u64, (String, String)>,
    /// Counts how often refusals came and went.
    pub(crate) revision: u64,
}

impl Streams {
    /// True if all streams that are open have answered.
    pub(crate) fn are_settled(&self, generation: Generation) -> bool {
        self.progress
            .values()
            .all(|progress| progress.settled >= generation)
    }

    /// True if some data plane is connected, and all of them have answered, also about routes.
    pub(crate) fn have_decided(&self, generation: Generation) -> bool {
        let mut data_planes = self
            .progress
            .values()
            .filter(|progress| progress.has_listeners || progress.has_routes)
            .peekable();
        data_planes.peek().is_some()
            && data_planes.all(|progress| progress.has_routes)
            && self.are_settled(generation)
    }

    /// Result of a probe on all data planes; `None` when some have not answered yet.
    pub(crate) fn verdict(&self, version: Version) -> Option<bool> {
        let mut all = None;
        // Others would never hear of it: a listener leads to it.
        for progress in self
            .progress
            .values()
            .filter(|progress| progress.has_listeners)
        {
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
        assert!(!streams(&[]).have_decided(known));
        assert!(
            !streams(&[Progress::default()]).have_decided(known),
            "no data plane"
        );
        assert!(!streams(&[listening, complete]).have_decided(known));
        assert!(streams(&[complete, Progress::default()]).have_decided(known));
        assert!(!streams(&[complete]).have_decided(known.next()));
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
        assert_eq!(streams(&[]).verdict(version), None);
        assert_eq!(
            streams(&[said(version, true), said(other, true)]).verdict(version),
            None
        );
        assert_eq!(
            streams(&[said(version, true), said(version, false)]).verdict(version),
            Some(false)
        );
        assert_eq!(
            streams(&[said(version, true), Progress::default()]).verdict(version),
            Some(true)
        );
    }
}
