//! Endpoints that grow to their share (slow start), by when this controller has seen them come.
//!
//! The rules are those of the filter and of Envoy: endpoints that a backend has from its beginning are not new, and one that passes its
//! health checks again is.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_ir::{Backend, BackendId, Config, Endpoint, changed};
use sluice_translate::Snapshot;
use tokio::sync::watch;

/// All that grow. A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Starts(Arc<Mutex<HashMap<BackendId, Growing>>>);

/// Endpoints of one backend.
#[derive(Debug)]
struct Growing {
    window: Duration,
    since: HashMap<SocketAddr, Instant>,
}

impl Starts {
    /// Takes note of endpoints as they come.
    pub(crate) async fn follow(self, mut snapshots: watch::Receiver<Arc<Snapshot>>) {
        let mut before = Arc::clone(&snapshots.borrow_and_update());
        while snapshots.changed().await.is_ok() {
            let now = Arc::clone(&snapshots.borrow_and_update());
            self.update(before.config(), now.config(), Instant::now());
            before = now;
        }
    }

    fn update(&self, before: &Config, now: &Config, at: Instant) {
        let mut all = self.growing();
        for change in changed(&before.backends, &now.backends) {
            let former = all.remove(change.name);
            let Some(backend) = change.now else { continue };
            let before = change.before.map(|before| &**before);
            if let Some(growing) = Growing::of(backend, before, former, at) {
                all.insert(change.name.clone(), growing);
            }
        }
        all.retain(|_, growing| growing.lasts(at));
    }

    /// Time until this endpoint has its share. `back` is when it came back from an ejection.
    pub(crate) fn left(
        &self,
        (id, backend): (&BackendId, &Backend),
        endpoint: SocketAddr,
        back: Option<Instant>,
        at: Instant,
    ) -> Option<Duration> {
        let window = window(backend)?;
        let all = self.growing();
        let came = all.get(id).and_then(|it| it.since.get(&endpoint)).copied();
        left(came.max(back)?, window, at)
    }

    /// True if any endpoint grows.
    pub(crate) fn has_some(&self, at: Instant) -> bool {
        self.growing().values().any(|growing| growing.lasts(at))
    }

    fn growing(&self) -> MutexGuard<'_, HashMap<BackendId, Growing>> {
        // Each backend is replaced in one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Growing {
    /// `None`: nothing of this backend grows.
    fn of(
        backend: &Backend,
        before: Option<&Backend>,
        former: Option<Growing>,
        at: Instant,
    ) -> Option<Growing> {
        let window = window(backend)?;
        let before = before.map_or(&[][..], |before| &before.endpoints);
        let known: HashMap<SocketAddr, &Endpoint> =
            before.iter().map(|it| (it.address, it)).collect();
        let former = former.map(|former| former.since).unwrap_or_default();
        let began = |endpoint: &Endpoint| {
            let is_new = match known.get(&endpoint.address) {
                Some(known) => known.unhealthy && !endpoint.unhealthy,
                None => !known.is_empty(),
            };
            let since = is_new.then_some(at);
            since.or_else(|| former.get(&endpoint.address).copied())
        };
        let endpoints = backend.endpoints.iter();
        let since: HashMap<_, _> = endpoints
            .filter_map(|endpoint| Some((endpoint.address, began(endpoint)?)))
            .collect();
        (!since.is_empty()).then_some(Growing { window, since })
    }

    fn lasts(&self, at: Instant) -> bool {
        let mut since = self.since.values();
        since.any(|since| left(*since, self.window, at).is_some())
    }
}

fn window(backend: &Backend) -> Option<Duration> {
    let seconds = backend.health.slow_start?;
    Some(Duration::from_secs(seconds.get().into()))
}

fn left(since: Instant, window: Duration, at: Instant) -> Option<Duration> {
    let left = window.checked_sub(at.saturating_duration_since(since))?;
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::num::NonZeroU32;

    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    fn address(n: u32) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::from(n), 80))
    }

    fn endpoint(n: u32) -> Endpoint {
        Endpoint::at(address(n))
    }

    fn config(endpoints: &[Endpoint]) -> Config {
        let mut backend = Backend {
            endpoints: endpoints.to_vec(),
            ..Backend::default()
        };
        backend.health.slow_start = NonZeroU32::new(10);
        let mut config = Config::default();
        let id = BackendId::new("web");
        config.backends.insert(id, Arc::new(backend));
        config
    }

    fn time_left(starts: &Starts, config: &Config, n: u32, at: Instant) -> Option<Duration> {
        let (id, backend) = config.backends.iter().next()?;
        starts.left((id, backend), address(n), None, at)
    }

    #[test]
    fn endpoints_that_come_later_grow_for_the_window() {
        let (starts, begin) = (Starts::default(), Instant::now());
        let (first, second) = (config(&[endpoint(1)]), config(&[endpoint(1), endpoint(2)]));
        starts.update(&Config::default(), &first, begin);
        assert_eq!(
            time_left(&starts, &first, 1, begin),
            None,
            "from the beginning"
        );
        starts.update(&first, &second, begin);
        let later = begin + Duration::from_secs(4);
        assert_eq!(time_left(&starts, &second, 1, later), None);
        let left = Duration::from_secs(6);
        assert_eq!(time_left(&starts, &second, 2, later), Some(left));
        assert!(starts.has_some(later) && !starts.has_some(begin + WINDOW));
        assert_eq!(time_left(&starts, &second, 2, begin + WINDOW), None);
    }

    #[test]
    fn endpoints_that_are_healthy_again_grow_and_those_that_stay_do_not_begin_anew() {
        let (starts, begin) = (Starts::default(), Instant::now());
        let unhealthy = Endpoint {
            unhealthy: true,
            ..endpoint(1)
        };
        let (ill, well) = (
            config(&[unhealthy, endpoint(2)]),
            config(&[endpoint(1), endpoint(2)]),
        );
        starts.update(&ill, &well, begin);
        let more = config(&[endpoint(1), endpoint(2), endpoint(3)]);
        let later = begin + Duration::from_secs(4);
        starts.update(&well, &more, later);
        let left = |n| time_left(&starts, &more, n, later).map(|left| left.as_secs());
        assert_eq!([left(1), left(2), left(3)], [Some(6), None, Some(10)]);
        // One that is gone is new when it comes back.
        let fewer = config(&[endpoint(2)]);
        starts.update(&more, &fewer, later);
        assert!(!starts.has_some(later));
    }

    #[test]
    fn endpoints_grow_after_an_ejection_too() {
        let (starts, begin) = (Starts::default(), Instant::now());
        let config = config(&[endpoint(1)]);
        let (id, backend) = config.backends.iter().next().unwrap();
        let left = starts.left((id, backend), address(1), Some(begin), begin);
        assert_eq!(left, Some(WINDOW));
    }
}
