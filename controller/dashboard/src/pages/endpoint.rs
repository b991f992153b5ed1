//! Endpoints of a page, as they are at the moment.

use std::time::{Duration, Instant};

use sluice_ir::{Backend, BackendId, Endpoint};

use crate::index::Indexed;
use crate::starts::Starts;
use crate::traffic::{Counts, Ejected, Traffic};

/// One endpoint.
pub(super) struct EndpointRow {
    pub(super) address: String,
    pub(super) weight: u16,
    pub(super) traffic: Option<Numbers>,
    pub(super) style: &'static str,
    pub(super) state: String,
}

/// Counts of an endpoint as a page shows them.
pub(super) struct Numbers {
    pub(super) requests: u64,
    pub(super) failed: u64,
    pub(super) latency: String,
}

/// Facts about endpoints that no configuration has.
pub(super) struct Live<'a> {
    /// `None`: not counted.
    traffic: Option<&'a Traffic>,
    starts: &'a Starts,
    now: Instant,
}

impl<'a> Live<'a> {
    pub(super) fn new(indexed: &'a Indexed) -> Self {
        Live {
            traffic: indexed.dashboard.traffic.as_ref(),
            starts: &indexed.starts,
            now: Instant::now(),
        }
    }

    pub(super) fn row(
        &self,
        id: &BackendId,
        backend: &Backend,
        endpoint: &Endpoint,
    ) -> EndpointRow {
        let traffic = self.traffic;
        let (style, state) = self.state(id, backend, endpoint);
        EndpointRow {
            address: endpoint.address.to_string(),
            weight: endpoint.weight.get(),
            traffic: traffic.map(|traffic| Numbers::new(traffic.of(endpoint.address))),
            style,
            state,
        }
    }

    fn state(
        &self,
        id: &BackendId,
        backend: &Backend,
        endpoint: &Endpoint,
    ) -> (&'static str, String) {
        let address = endpoint.address;
        let ejected = self.traffic.and_then(|it| it.ejected(address, self.now));
        let back = self.traffic.and_then(|it| it.back_since(address, self.now));
        let start = self.starts.left((id, backend), address, back, self.now);
        if endpoint.draining {
            ("warning", "draining: keeps its sessions".to_owned())
        } else if endpoint.unhealthy {
            ("error", "fails its health checks".to_owned())
        } else if let Some(Ejected { workers, left }) = ejected {
            let workers = match workers {
                1 => "1 worker".to_owned(),
                more => format!("{more} workers"),
            };
            (
                "error",
                format!("ejected by {workers}, {} left", seconds(left)),
            )
        } else if endpoint.backup {
            ("soft", "backup".to_owned())
        } else if let Some(left) = start {
            ("warning", format!("slow start, {} left", seconds(left)))
        } else {
            ("good", "ready".to_owned())
        }
    }
}

/// Rounded up: nothing is over before it is.
fn seconds(time: Duration) -> String {
    format!("{} s", time.as_millis().div_ceil(1000))
}

impl Numbers {
    fn new(counts: Counts) -> Self {
        Numbers {
            requests: counts.requests,
            failed: counts.failed,
            latency: match counts.latency {
                Some(seconds) => format!("{:.1} ms", seconds * 1000.0),
                None => "-".to_owned(),
            },
        }
    }
}
