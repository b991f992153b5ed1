//! Requests that endpoints got, from the access logs of data planes.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_xds_server::AccessLogEntry;

/// Endpoints that are counted; tenants choose how many there are.
const MOST: usize = 20_000;
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
        }
    }

    pub(crate) fn of(&self, endpoint: SocketAddr) -> Counts {
        let counted = self.counted();
        let known = counted.endpoints.get(&endpoint);
        known.map(|endpoint| endpoint.counts).unwrap_or_default()
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
