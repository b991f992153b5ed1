//! Draining: Envoy takes no new connections, and open requests may complete.

use std::path::Path;
use std::time::{Duration, Instant};

use hyper::Method;
use rustix::process::Pid;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::admin;
use crate::process::{Process, Steering};
use crate::supervisor::{POLL_INTERVAL, terminate};

/// A connection is closed with its next response. An idle one is closed after this time.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections that had begun before others were steered elsewhere are complete, and accepted, after this time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(1);

/// When listeners are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseListeners {
    /// At once: another Envoy, this process, listens on the same addresses already, and gets new connections from now on.
    Immediately { replacement: Pid },
    /// At the end: until load balancers notice, connections still have to be accepted.
    AfterDrain,
}

/// Drains an Envoy for at most `drain_timeout`, then terminates it.
pub(super) async fn drain(
    process: &mut Process,
    admin_socket: &Path,
    close: CloseListeners,
    drain_timeout: Duration,
) {
    info!("draining envoy, pid {}", process.pid());
    // Failing health checks closes each connection with its next response. A later controller also sees by it that this Envoy
    // is draining.
    post(admin_socket, "/healthcheck/fail").await;
    let steering = match close {
        CloseListeners::Immediately { replacement } => {
            let steering = steer(process.pid(), replacement).await;
            post(admin_socket, "/drain_listeners").await;
            steering
        }
        CloseListeners::AfterDrain => {
            post(admin_socket, "/drain_listeners?graceful&skip_exit").await;
            None
        }
    };
    let began = Instant::now();
    let drained = async {
        while open(admin_socket)
            .await
            .is_some_and(|open| open.delays_exit(began.elapsed()))
        {
            sleep(POLL_INTERVAL).await;
        }
    };
    if timeout(drain_timeout, drained).await.is_err() {
        warn!("drain timeout: requests are still open after {drain_timeout:?}; terminating envoy");
    }
    terminate("envoy", process).await;
    if let Some(steering) = steering {
        steering.end();
    }
    info!("envoy stopped");
}

/// Has new connections go to the replacement, and waits until those before are complete.
async fn steer(outgoing: Pid, replacement: Pid) -> Option<Steering> {
    let steering = Steering::away_from(outgoing, replacement)
        .inspect_err(|error| warn!("connections may be reset while envoy is replaced: {error:#}"))
        .ok()?;
    sleep(HANDSHAKE_TIME).await;
    Some(steering)
}

async fn post(admin_socket: &Path, path: &str) {
    if let Err(error) = admin::call(admin_socket, Method::POST, path).await {
        warn!("{error:#}");
    }
}

async fn open(admin_socket: &Path) -> Option<Open> {
    const STATS: &str = "/stats?filter=downstream_(rq|cx)_active$";
    Some(Open::from_stats(
        &admin::call(admin_socket, Method::GET, STATS).await.ok()?,
    ))
}

/// Open requests and connections of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    requests: u64,
    connections: u64,
}

impl Open {
    /// Reads Envoy's stats. The admin request that reads them does not count.
    fn from_stats(stats: &str) -> Self {
        let sum = |suffix: &str| {
            let lines = stats.lines().filter_map(|line| line.split_once(": "));
            let downstream = lines.filter(|(name, _)| {
                name.starts_with("http.")
                    && !name.starts_with("http.admin.")
                    && name.ends_with(suffix)
            });
            downstream
                .filter_map(|(_, value)| value.parse::<u64>().ok())
                .sum()
        };
        Open {
            requests: sum("downstream_rq_active"),
            connections: sum("downstream_cx_active"),
        }
    }

    /// Requests delay the exit; so do connections, until an idle one would have been closed.
    fn delays_exit(self, elapsed: Duration) -> bool {
        self.requests > 0 || (self.connections > 0 && elapsed < IDLE_CONNECTION_TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "http.admin.downstream_rq_active: 1\nhttp.http.downstream_cx_active: 3\n\
        http.http.downstream_rq_active: 1\nhttp.https.downstream_rq_active: 2\nlistener.x.downstream_cx_active: 3\n";

    #[test]
    fn admin_requests_are_not_counted_as_open() {
        assert_eq!(
            Open::from_stats(STATS),
            Open {
                requests: 3,
                connections: 3
            }
        );
    }

    #[test]
    fn open_requests_delay_the_exit_and_idle_connections_only_for_a_while() {
        let open = |requests, connections| Open {
            requests,
            connections,
        };
        let idle = IDLE_CONNECTION_TIMEOUT;
        assert!(open(1, 1).delays_exit(idle * 9) && open(0, 1).delays_exit(idle / 2));
        assert!(!open(0, 1).delays_exit(idle) && !open(0, 0).delays_exit(Duration::ZERO));
    }
}
