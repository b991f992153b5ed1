//! The delta log, where the workers of a data plane share memory: parsed once, applied by each worker when it next has a request.
//!
//! A worker that is behind takes the deltas that it lacks. One that lacks more than are kept takes a snapshot, which is kept up to date
//! for that, and loses no state by it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{ApplyError, Tables};
use sluice_filter_config::{Delta, Snapshot, Tables as Update, Version};

/// Updates for all workers.
#[derive(Debug, Default)]
pub struct SharedLog {
    tables: Option<Snapshot>,
    /// Number of the last update; 0 before the first.
    latest: u64,
    /// The last updates, if they are deltas; the newest at the end.
    deltas: VecDeque<Arc<Delta>>,
}

impl SharedLog {
    /// Deltas that are kept. At a hundred changes a second they are those of the last seconds.
    pub const KEPT: usize = 256;

    /// Without tables.
    #[must_use]
    pub const fn new() -> Self {
        SharedLog {
            tables: None,
            latest: 0,
            deltas: VecDeque::new(),
        }
    }

    /// The version of the tables; `None` before the first.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.tables.as_ref().map(|tables| tables.version)
    }

    /// Takes an update that every worker can apply, and gives its number; whole or not at all.
    pub fn publish(&mut self, update: Update) -> Result<u64, ApplyError> {
        Tables::default().check(&update)?;
        match update {
            Update::Snapshot(snapshot) => {
                self.deltas.clear();
                self.tables = Some(snapshot);
            }
            Update::Delta(delta) => self.advance(delta)?,
        }
        self.latest += 1;
        Ok(self.latest)
    }

    fn advance(&mut self, delta: Delta) -> Result<(), ApplyError> {
        let (have, base) = (self.version(), delta.base);
        let Some(tables) = self.tables.as_mut().filter(|it| it.version == base) else {
            return Err(ApplyError::Base { have, base });
        };
        merge(tables, &delta);
        if self.deltas.len() == Self::KEPT {
            self.deltas.pop_front();
        }
        self.deltas.push_back(Arc::new(delta));
        Ok(())
    }

    /// News for a worker that has the updates up to a number, and the number that it has with them. Without tables there are none.
    #[must_use]
    pub fn since(&self, number: u64) -> Option<(News, u64)> {
        let lacking = usize::try_from(self.latest.saturating_sub(number)).unwrap_or(usize::MAX);
        let news = match self.deltas.len().checked_sub(lacking) {
            Some(had) if number > 0 => {
                News::Deltas(self.deltas.iter().skip(had).cloned().collect())
            }
            _ => News::Snapshot(self.tables.clone()?),
        };
        Some((news, self.latest))
    }
}

/// Updates that a worker lacks.
#[derive(Debug)]
pub enum News {
    /// More than are kept.
    Snapshot(Snapshot),
    /// In their order.
    Deltas(Vec<Arc<Delta>>),
}

impl News {
    /// Each update, for a worker to apply. Shared deltas are copied here, not while the log is locked.
    pub fn updates(self) -> Vec<Update> {
        match self {
            News::Snapshot(snapshot) => vec![Update::Snapshot(snapshot)],
            News::Deltas(deltas) => {
                let delta = |delta: Arc<Delta>| Update::Delta(Arc::unwrap_or_clone(delta));
                deltas.into_iter().map(delta).collect()
            }
        }
    }
}

/// The compiler asks for each field of a delta.
fn merge(tables: &mut Snapshot, delta: &Delta) {
    let Delta {
        base: _,
        version,
        routes,
        backends,
        removed_routes,
        removed_backends,
        hosts,
        removed_hosts,
    } = delta;
    let routes = routes.iter().map(|(id, it)| (id.clone(), it.clone()));
    tables.routes.extend(routes);
    let backends = backends.iter().map(|(id, it)| (id.clone(), it.clone()));
    tables.backends.extend(backends);
    tables.hosts.extend(hosts.iter().cloned());
    for id in removed_routes {
        tables.routes.remove(id);
    }
    for id in removed_backends {
        tables.backends.remove(id);
    }
    for host in removed_hosts {
        tables.hosts.remove(host);
    }
    tables.version = *version;
}

#[cfg(test)]
mod tests {
    use sluice_filter_config::{Backend, Endpoint, Route};

    use super::*;

    fn version(number: u64) -> Version {
        Version::new(number, number.into())
    }

    fn backend(port: u64) -> Backend {
        Backend::round_robin("n-s-80", vec![Endpoint::at(format!("10.0.0.1:{port}"))])
    }

    fn snapshot(number: u64) -> Update {
        Update::Snapshot(Snapshot {
            version: version(number),
            routes: [("a/".to_owned(), Route::to("n/s/80"))].into(),
            backends: [("n/s/80".to_owned(), backend(1))].into(),
            hosts: ["a.test".to_owned()].into(),
        })
    }

    /// Each replaces the backend, adds one of everything, and removes what the one before has added.
    fn delta(number: u64) -> Update {
        let id = |number: u64| format!("n/s{number}/80");
        Update::Delta(Delta {
            routes: [(format!("{number}/"), Route::to(id(number)))].into(),
            backends: [
                ("n/s/80".to_owned(), backend(number)),
                (id(number), backend(number)),
            ]
            .into(),
            hosts: [format!("{number}.test")].into(),
            removed_routes: vec![format!("{}/", number - 1)],
            removed_backends: vec![id(number - 1)],
            removed_hosts: vec![format!("{}.test", number - 1)],
            ..Delta::between(version(number - 1), version(number))
        })
    }

    /// Tables of a worker: what a snapshot of the log says at its version.
    #[derive(Default)]
    struct Reader {
        tables: Option<Snapshot>,
        taken: u64,
    }

    impl Reader {
        fn catch_up(&mut self, log: &SharedLog) -> usize {
            let Some((news, latest)) = log.since(self.taken) else {
                return 0;
            };
            let updates = news.updates();
            let count = updates.len();
            for update in updates {
                match update {
                    Update::Snapshot(snapshot) => self.tables = Some(snapshot),
                    Update::Delta(delta) => {
                        let tables = self.tables.as_mut().expect("a snapshot first");
                        assert_eq!(tables.version, delta.base);
                        merge(tables, &delta);
                    }
                }
            }
            self.taken = latest;
            count
        }
    }

    #[test]
    fn a_worker_has_the_tables_of_the_log_however_far_it_was_behind() {
        let mut log = SharedLog::new();
        let (mut diligent, mut late) = (Reader::default(), Reader::default());
        assert_eq!(
            diligent.catch_up(&log),
            0,
            "nothing before the first tables"
        );
        let kept = u64::try_from(SharedLog::KEPT).unwrap();
        for number in 1..2 * kept {
            let update = if number == 1 {
                snapshot(1)
            } else {
                delta(number)
            };
            log.publish(update).unwrap();
            assert_eq!(diligent.catch_up(&log), 1);
            assert_eq!(diligent.tables, log.tables);
            let mut new = Reader::default();
            assert_eq!(new.catch_up(&log), 1, "a snapshot");
            assert_eq!(new.tables, log.tables);
            // Behind by every number of updates, and a snapshot where deltas are gone.
            let mut behind = Reader {
                tables: late.tables.clone(),
                taken: late.taken,
            };
            let lacking = behind.catch_up(&log);
            assert!(lacking <= SharedLog::KEPT, "{lacking}");
            assert_eq!(behind.tables, log.tables, "{number}");
            if number == 3 {
                late.catch_up(&log);
            }
        }
        assert_eq!(log.deltas.len(), SharedLog::KEPT);
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut log = SharedLog::new();
        let refused = log.publish(delta(2)).unwrap_err();
        assert!(
            matches!(refused, ApplyError::Base { have: None, .. }),
            "{refused}"
        );
        log.publish(snapshot(1)).unwrap();
        let before = log.tables.clone();
        for update in [delta(3), delta(1)] {
            assert!(matches!(log.publish(update), Err(ApplyError::Base { .. })));
        }
        let mut broken = backend(1);
        broken.endpoints = vec![Endpoint::at("not an address")];
        let Update::Delta(mut broken_delta) = delta(2) else {
            unreachable!()
        };
        broken_delta.backends.insert("n/s/80".to_owned(), broken);
        let refused = log.publish(Update::Delta(broken_delta));
        assert!(
            matches!(refused, Err(ApplyError::Backend { .. })),
            "{refused:?}"
        );
        assert_eq!((log.tables.clone(), log.latest), (before, 1));
    }

    #[test]
    fn a_new_snapshot_makes_deltas_of_before_useless() {
        let mut log = SharedLog::new();
        log.publish(snapshot(1)).unwrap();
        log.publish(delta(2)).unwrap();
        let mut reader = Reader::default();
        reader.catch_up(&log);
        log.publish(snapshot(9)).unwrap();
        assert_eq!(reader.catch_up(&log), 1);
        assert_eq!(reader.tables, log.tables);
        assert_eq!(reader.catch_up(&log), 0, "nothing new");
    }
}
