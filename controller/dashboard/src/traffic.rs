//! Requests that endpoints got, and ejections, from the access logs of data planes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_xds_server::{AccessLogEntry, Ejection};

/// Endpoints that are counted; tenants choose how many there are.
const MOST: usize = 20_000;
/// Ejections of one endpoint that are known.
const MOST_WORKERS: usize = 1000;
/// An endpoint without requests for so long makes room for another one.
const IDLE: Duration = Duration::from_secs(600);
/// Weight of one response in the moving average.
const WEIGHT: f64 = 0.1;

/// Counts of all endpoints. A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    endpoints: HashMap<SocketAddr, Endpoint>,
    /// Ends of ejections, one for each worker that has ejected it.
    ejected: HashMap<SocketAddr, Vec<Instant>>,
}

/// An endpoint that some workers of data planes leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ejected {
    pub(crate) workers: usize,
    /// Until the last of them asks it again.
    pub(crate) left: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Endpoint {
    counts: Counts,
    last: Instant,
}

/// Counts of one endpoint since it was first asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    /// Without a response, or with one of 500 and above.
    pub(crate) failed: u64,
    /// Moving average of the time to the head of the response, in seconds.
    pub(crate) latency: Option<f64>,
}

impl Traffic {
    /// Counts requests.
    pub fn take(&self, requests: &[AccessLogEntry]) {
        let now = Instant::now();
        let mut counted = self.counted();
        for request in requests {
            if let Some(address) = request.endpoint {
                counted.count(address, request, now);
            }
            for ejection in &request.ejections {
                counted.eject(ejection, now);
            }
        }
    }

    pub(crate) fn of(&self, endpoint: SocketAddr) -> Counts {
        let counted = self.counted();
        let known = counted.endpoints.get(&endpoint);
        known.map(|endpoint| endpoint.counts).unwrap_or_default()
    }

    /// Workers that leave this endpoint out now; `None`: nobody does.
    pub(crate) fn ejected(&self, endpoint: SocketAddr, now: Instant) -> Option<Ejected> {
        let counted = self.counted();
        let all = counted.ejected.get(&endpoint)?.iter();
        let holding = all.filter(|until| now < **until);
        Some(Ejected {
            workers: holding.clone().count(),
            left: holding.max()?.saturating_duration_since(now),
        })
    }

    /// The end of the last ejection that has ended.
    pub(crate) fn back_since(&self, endpoint: SocketAddr, now: Instant) -> Option<Instant> {
        let counted = self.counted();
        let all = counted.ejected.get(&endpoint)?.iter();
        all.filter(|until| **until <= now).max().copied()
    }

    /// True if an endpoint is ejected.
    pub(crate) fn has_ejected(&self, now: Instant) -> bool {
        let counted = self.counted();
        let mut all = counted.ejected.values().flatten();
        all.any(|until| now < *until)
    }

    /// Requests of all endpoints.
    pub(crate) fn requests(&self) -> u64 {
        self.counted().requests
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Numbers, each set in one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn eject(&mut self, ejection: &Ejection, now: Instant) {
        let is_full = self.ejected.len() >= MOST;
        if is_full && !self.ejected.contains_key(&ejection.endpoint) {
            self.ejected
                .retain(|_, ends| ends.iter().any(|until| now < *until + IDLE));
            if self.ejected.len() >= MOST {
                return;
            }
        }
        let ends = self.ejected.entry(ejection.endpoint).or_default();
        ends.retain(|until| now < *until + IDLE);
        if ends.len() < MOST_WORKERS
            && let Some(until) = now.checked_add(ejection.left)
        {
            ends.push(until);
        }
    }

    fn count(&mut self, address: SocketAddr, request: &AccessLogEntry, now: Instant) {
        self.requests += 1;
        if self.endpoints.len() >= MOST && !self.endpoints.contains_key(&address) {
            self.endpoints
                .retain(|_, endpoint| now.duration_since(endpoint.last) < IDLE);
            if self.endpoints.len() >= MOST {
                return;
            }
        }
        let endpoint = self.endpoints.entry(address).or_insert_with(|| Endpoint {
            counts: Counts::default(),
            last: now,
        });
        endpoint.last = now;
        let counts = &mut endpoint.counts;
        counts.requests += 1;
        counts.failed += u64::from(request.status == 0 || request.status >= 500);
        if let Some(took) = request.to_header.map(|took| took.as_secs_f64()) {
            let average = counts.latency.unwrap_or(took);
            counts.latency = Some(average + WEIGHT * (took - average));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn request(endpoint: SocketAddr, status: u16) -> AccessLogEntry {
        AccessLogEntry {
            endpoint: Some(endpoint),
            status,
            to_header: Some(Duration::from_millis(10)),
            ..AccessLogEntry::default()
        }
    }

    fn address(n: u32) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::from(n), 80))
    }

    #[test]
    fn requests_are_counted_by_endpoint() {
        let traffic = Traffic::default();
        traffic.take(&[
            request(address(1), 200),
            request(address(1), 503),
            request(address(1), 0),
            request(address(2), 404),
            AccessLogEntry::default(),
        ]);
        let counts = |requests, failed| Counts {
            requests,
            failed,
            latency: Some(0.01),
        };
        assert_eq!(traffic.of(address(1)), counts(3, 2));
        assert_eq!(traffic.of(address(2)), counts(1, 0));
        assert_eq!(traffic.of(address(3)), Counts::default());
        assert_eq!(traffic.requests(), 4);
    }

    #[test]
    fn ejections_are_counted_by_worker_until_they_end() {
        let (mut counted, now) = (Counted::default(), Instant::now());
        let (one, other) = (address(1), address(2));
        for (endpoint, seconds) in [(one, 30), (one, 20), (other, 10)] {
            let left = Duration::from_secs(seconds);
            counted.eject(&Ejection { endpoint, left }, now);
        }
        let traffic = Traffic(Arc::new(Mutex::new(counted)));
        let at = |seconds| now + Duration::from_secs(seconds);
        let ejected = |workers, seconds| {
            let left = Duration::from_secs(seconds);
            Some(Ejected { workers, left })
        };
        assert_eq!(traffic.ejected(one, at(5)), ejected(2, 25));
        assert_eq!(traffic.ejected(one, at(25)), ejected(1, 5));
        assert_eq!(traffic.ejected(one, at(30)), None);
        assert_eq!(traffic.back_since(one, at(25)), Some(at(20)));
        assert_eq!(traffic.back_since(one, at(5)), None);
        assert_eq!(traffic.ejected(address(3), now), None);
        assert!(traffic.has_ejected(at(29)) && !traffic.has_ejected(at(30)));
    }

    #[test]
    fn there_is_room_for_so_many_and_idle_ones_make_more() {
        let (mut counted, now) = (Counted::default(), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        for n in 0..most + 5 {
            counted.count(address(n), &request(address(n), 200), now);
        }
        assert_eq!(counted.endpoints.len(), MOST);
        let later = now + IDLE;
        counted.count(address(most + 9), &request(address(most + 9), 200), later);
        assert_eq!(counted.endpoints.len(), 1);
    }
}
