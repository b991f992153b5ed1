//! A closed loop: a fixed number of connections, each with one request in flight.
//!
//! Closed, because the tests ask "did any request fail" and "how much can it do", not "what if clients do not wait".

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::http::{Request, Response};
use crate::tally::Tally;
use crate::wait;

/// Requests to send, and how many at once.
#[derive(Clone, Debug)]
pub struct Load {
    addr: SocketAddr,
    requests: Vec<Request>,
    connections: usize,
    pause: Duration,
    timeout: Duration,
    max_requests: u64,
}

impl Load {
    /// Four connections that send this request without a pause.
    pub fn new(addr: SocketAddr, request: Request) -> Load {
        Load::of(addr, vec![request])
    }

    /// The same with several requests: the first connection begins with the first, the second with the second ...
    pub fn of(addr: SocketAddr, requests: Vec<Request>) -> Load {
        let (pause, timeout) = (Duration::ZERO, Duration::from_secs(10));
        Load {
            addr,
            requests,
            connections: 4,
            pause,
            timeout,
            max_requests: u64::MAX,
        }
    }

    /// Sets the number of connections.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Load {
        self.connections = connections;
        self
    }

    /// Sets how long each connection rests after an answer.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Load {
        self.pause = pause;
        self
    }

    /// Ends after this many requests.
    #[must_use]
    pub fn max_requests(mut self, max_requests: u64) -> Load {
        self.max_requests = max_requests;
        self
    }

    /// Runs for this long, or until `max_requests` are done.
    pub async fn run_for(self, duration: Duration) -> Result<Tally> {
        let mut running = self.start();
        let finished = async { while running.workers.join_next().await.is_some() {} };
        // Running out of time is how a run normally ends.
        let _ = tokio::time::timeout(duration, finished).await;
        running.stop().await
    }

    /// Runs until it is stopped.
    pub fn start(self) -> Running {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            left: AtomicU64::new(self.max_requests),
            tally: Mutex::default(),
        });
        let mut workers = JoinSet::new();
        for first in 0..self.connections {
            workers.spawn(work(self.clone(), first, Arc::clone(&shared)));
        }
        Running {
            shared,
            workers,
            started: Instant::now(),
        }
    }
}

struct Shared {
    stop: AtomicBool,
    left: AtomicU64,
    tally: Mutex<Tally>,
}

impl Shared {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the next request, if there is one.
    fn claim(&self) -> bool {
        let one_less = |left: u64| left.checked_sub(1);
        !self.stop.load(Ordering::Relaxed)
            && self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                .is_ok()
    }
}

/// A load that runs in the background; ends when it is dropped.
pub struct Running {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
    started: Instant,
}

impl Running {
    /// The counts up to now.
    pub fn tally(&self) -> Tally {
        Tally {
            elapsed: self.started.elapsed(),
            ..self.shared.tally().clone()
        }
    }

    /// Waits until the counts satisfy `done`; how long that took.
    pub async fn until(&self, what: &str, done: impl Fn(&Tally) -> bool) -> Result<Duration> {
        let waited = wait::until(what, async || done(&self.shared.tally()).then_some(())).await;
        Ok(waited.with_context(|| self.tally().to_string())?.1)
    }

    /// Lets the requests in flight finish, then gives the counts.
    pub async fn stop(mut self) -> Result<Tally> {
        self.shared.stop.store(true, Ordering::Relaxed);
        while let Some(worker) = self.workers.join_next().await {
            worker.context("a worker of the load")?;
        }
        Ok(self.tally())
    }
}

async fn work(load: Load, first: usize, shared: Arc<Shared>) {
    let prepared = |request: &Request| (request.to_bytes(), request.method == "HEAD");
    let requests: Vec<(Vec<u8>, bool)> = load.requests.iter().map(prepared).collect();
    let in_turn = requests
        .iter()
        .cycle()
        .skip(first)
        .step_by(load.connections);
    let mut connection = None;
    for (bytes, head) in in_turn {
        if !shared.claim() {
            return;
        }
        let started = Instant::now();
        let exchange = exchange(&mut connection, load.addr, bytes, *head);
        let outcome = tokio::time::timeout(load.timeout, exchange).await;
        let outcome = outcome.context("no answer in time").flatten();
        if outcome.is_err() {
            connection = None;
        }
        shared.tally().add(&outcome, started);
        if !load.pause.is_zero() {
            tokio::time::sleep(load.pause).await;
        } else if outcome.is_err() {
            // A refused connection is an answer within microseconds; do not spin on it.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// One request on the kept connection, or on a new one when the server has closed that in an orderly way.
async fn exchange(
    kept: &mut Option<Connection>,
    addr: SocketAddr,
    bytes: &[u8],
    head: bool,
) -> Result<Response> {
    let connection = match kept {
        Some(connection) if connection.is_reusable() => connection,
        _ => kept.insert(Connection::open(addr).await?),
    };
    connection.send_bytes(bytes, head).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::Echo;
    use crate::ports::Network;
    use crate::script::Script;

    #[tokio::test]
    async fn counts_per_pod_and_status_add_up() {
        let network = Network::reserve().unwrap();
        let pods = Echo::start_all("web", &network.pods(1)).await.unwrap();
        pods[0].script(Script::echo().fail_first(3, 503));
        let load = Load::new(pods[0].addr(), Request::get("h", "/x?y")).max_requests(100);
        let tally = load.run_for(Duration::from_secs(10)).await.unwrap();
        assert_eq!(
            (tally.total(), tally.failed(), tally.errors),
            (100, 3, 0),
            "{tally}"
        );
        assert_eq!((tally.pod("web-0"), pods[0].hits()), (100, 100));
    }

    #[tokio::test]
    async fn a_pod_that_is_gone_is_an_error_and_one_that_is_back_answers() {
        let network = Network::reserve().unwrap();
        let mut pods = Echo::start_all("web", &network.pods(1)).await.unwrap();
        let running = Load::new(pods[0].addr(), Request::get("h", "/")).start();
        running
            .until("answers", |tally| tally.pod("web-0") > 10)
            .await
            .unwrap();
        pods[0].stop().await;
        running
            .until("errors", |tally| tally.errors > 0)
            .await
            .unwrap();
        pods[0].start_again().await.unwrap();
        let before = running.tally().pod("web-0");
        running
            .until("answers again", |tally| tally.pod("web-0") > before + 10)
            .await
            .unwrap();
        assert_eq!(running.stop().await.unwrap().by_status.len(), 1);
    }
}
