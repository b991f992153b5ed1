//! The end of an Envoy: nothing new comes, what is open gets its time.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::Method;
use rustix::process::Signal;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::ASK;
use crate::envoy_admin;
use crate::process::Process;

/// A connection is told to close with the answer to its next request. One that rests for longer is closed without.
const REST: Duration = Duration::from_secs(1);
/// Time for Envoy to end after it was told to, before it is killed: by then it has nothing left to do.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// When it leaves its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ports {
    /// Somebody else listens there already.
    AtOnce,
    /// At the end: until whoever sends traffic here has noticed, somebody has to answer.
    Last,
}

/// New connections go elsewhere, open requests get their time, then it ends.
pub(super) async fn drain(
    process: &mut Process,
    admin_socket: &Path,
    ports: Ports,
    patience: Duration,
) {
    info!("draining envoy, pid {}", process.pid());
    let listeners = match ports {
        Ports::AtOnce => "/drain_listeners",
        Ports::Last => "/drain_listeners?graceful&skip_exit",
    };
    // The first makes each answer the last one of its connection, and is what others know an Envoy by that is to end.
    for path in ["/healthcheck/fail", listeners] {
        if let Err(error) = envoy_admin::call(admin_socket, Method::POST, path).await {
            warn!("{error:#}");
        }
    }
    let began = Instant::now();
    let drained = async {
        while open(admin_socket)
            .await
            .is_some_and(|open| open.keeps_us(began.elapsed()))
        {
            sleep(ASK).await;
        }
    };
    if timeout(patience, drained).await.is_err() {
        warn!("requests are still open after {patience:?}; ending envoy all the same");
    }
    end(process).await;
    info!("envoy stopped");
}

/// SIGTERM works from the first moment on, also when there is no admin interface yet or its thread is busy.
pub(super) async fn end(process: &mut Process) {
    tell(process, Signal::TERM);
    if timeout(LAST_WORDS, process.ended()).await.is_err() {
        warn!("envoy did not end in {LAST_WORDS:?}; killing it");
        tell(process, Signal::KILL);
        process.ended().await;
    }
}

fn tell(process: &Process, signal: Signal) {
    if let Err(error) = process.signal(signal) {
        warn!("cannot end envoy: {error}");
    }
}

async fn open(admin_socket: &Path) -> Option<Open> {
    const STATS: &str = "/stats?filter=downstream_(rq|cx)_active$";
    Some(Open::read(
        &envoy_admin::call(admin_socket, Method::GET, STATS)
            .await
            .ok()?,
    ))
}

/// What clients have open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    requests: u64,
    connections: u64,
}

impl Open {
    /// The request that asks is open, too, and does not count.
    fn read(stats: &str) -> Self {
        let sum = |end: &str| {
            let lines = stats.lines().filter_map(|line| line.split_once(": "));
            let ours = lines.filter(|(name, _)| {
                name.starts_with("http.") && !name.starts_with("http.admin.") && name.ends_with(end)
            });
            ours.filter_map(|(_, value)| value.parse::<u64>().ok())
                .sum()
        };
        Open {
            requests: sum("downstream_rq_active"),
            connections: sum("downstream_cx_active"),
        }
    }

    /// Requests always; connections for the time in which a client that rests would have heard that it is to go.
    fn keeps_us(self, since: Duration) -> bool {
        self.requests > 0 || (self.connections > 0 && since < REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "http.admin.downstream_rq_active: 1\nhttp.http.downstream_cx_active: 3\n\
        http.http.downstream_rq_active: 1\nhttp.https.downstream_rq_active: 2\nlistener.x.downstream_cx_active: 3\n";

    #[test]
    fn what_clients_have_open_is_counted_without_the_question() {
        assert_eq!(
            Open::read(STATS),
            Open {
                requests: 3,
                connections: 3
            }
        );
    }

    #[test]
    fn open_requests_are_waited_for_and_resting_connections_for_a_while() {
        let open = |requests, connections| Open {
            requests,
            connections,
        };
        assert!(open(1, 1).keeps_us(REST * 9) && open(0, 1).keeps_us(REST / 2));
        assert!(!open(0, 1).keeps_us(REST) && !open(0, 0).keeps_us(Duration::ZERO));
    }
}
