//! The runs that are drawn.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sluice_tests::http::Request;
use sluice_tests::load::{Load, Running};
use sluice_tests::script::Script;
use sluice_tests::wait;

use crate::site::{Algorithm, Client, Site};

const HASH: (&str, &str) = ("upstream-hash-by", "$request_uri");

/// Requests per pod.
pub(crate) struct Spread {
    pub(crate) title: &'static str,
    pub(crate) pods: Vec<u64>,
}

const ALGORITHMS: [Algorithm; 8] = [
    Algorithm {
        title: "round_robin",
        annotations: &[],
    },
    Algorithm {
        title: "least_conn",
        annotations: &[("load-balance", "least_conn")],
    },
    Algorithm {
        title: "ewma",
        annotations: &[("load-balance", "ewma")],
    },
    Algorithm {
        title: "peak_ewma",
        annotations: &[("load-balance", "peak_ewma")],
    },
    Algorithm {
        title: "hash",
        annotations: &[HASH],
    },
    Algorithm {
        title: "bounded hash",
        annotations: &[HASH, ("sluice.dev/hash-load-factor", "125")],
    },
    Algorithm {
        title: "hash to subsets",
        annotations: &[
            HASH,
            ("upstream-hash-by-subset", "true"),
            ("upstream-hash-by-subset-size", "2"),
        ],
    },
    Algorithm {
        title: "new sessions",
        annotations: &[("affinity", "cookie")],
    },
];

/// Six pods, of which the last is slow, and twelve clients at a time who ask for 600 paths.
pub(crate) async fn spread() -> Result<Vec<Spread>> {
    const REQUESTS: u64 = 3000;
    let site = Site::start(6, 6, &ALGORITHMS).await?;
    for (n, pod) in site.pods.iter().enumerate() {
        let millis = if n == 5 { 40 } else { 4 };
        pod.script(Script::echo().delay(Duration::from_millis(millis)));
    }
    let mut spreads = Vec::new();
    for algorithm in ALGORITHMS {
        let requests = (0..600)
            .map(|n| Request::get(&algorithm.host(), &format!("/{n}")))
            .collect();
        let load = Load::of(site.sluice.http(), requests)
            .connections(12)
            .max_requests(REQUESTS);
        let tally = load.run_for(Duration::from_secs(60)).await?;
        ensure!(
            tally.failed() == 0 && tally.total() == REQUESTS,
            "{}: {tally}",
            algorithm.title
        );
        let pods = (0..6).map(|pod| tally.pod(&format!("web-{pod}"))).collect();
        spreads.push(Spread {
            title: algorithm.title,
            pods,
        });
    }
    site.sluice.stop()?;
    Ok(spreads)
}

/// Clients per pod before and after there was one more pod.
pub(crate) struct ScaleUp {
    pub(crate) title: &'static str,
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// Clients that came to another pod than before.
    pub(crate) moved: usize,
}

/// Clients, each with a path and a cookie of its own.
pub(crate) const CLIENTS: usize = 600;

/// Five pods become six, and all clients come again.
pub(crate) async fn scale_up() -> Result<Vec<ScaleUp>> {
    const ALGORITHMS: [Algorithm; 4] = [
        Algorithm {
            title: "hash",
            annotations: &[HASH],
        },
        Algorithm {
            title: "balanced sessions",
            annotations: &[("affinity", "cookie")],
        },
        Algorithm {
            title: "persistent sessions",
            annotations: &[("affinity", "cookie"), ("affinity-mode", "persistent")],
        },
        Algorithm {
            title: "round_robin",
            annotations: &[],
        },
    ];
    let site = Site::start(6, 5, &ALGORITHMS).await?;
    let addr = site.sluice.http();
    let mut clients = vec![Client::all(CLIENTS); ALGORITHMS.len()];
    let mut before = Vec::new();
    for (clients, algorithm) in clients.iter_mut().zip(ALGORITHMS) {
        before.push(visits(&site, clients, algorithm).await?);
    }
    site.scale_up(&ALGORITHMS)?;
    for algorithm in ALGORITHMS {
        let used = async || {
            for mut client in Client::all(40) {
                if client.visit(addr, algorithm).await.ok()? == 5 {
                    return Some(());
                }
            }
            None
        };
        wait::until("the new pod to be used", used).await?;
    }
    let mut runs = Vec::new();
    for ((clients, algorithm), before) in clients.iter_mut().zip(ALGORITHMS).zip(before) {
        let after = visits(&site, clients, algorithm).await?;
        let moved = before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before != after)
            .count();
        let (before, after) = (count(&before), count(&after));
        runs.push(ScaleUp {
            title: algorithm.title,
            before,
            after,
            moved,
        });
    }
    site.sluice.stop()?;
    Ok(runs)
}

async fn visits(site: &Site, clients: &mut [Client], algorithm: Algorithm) -> Result<Vec<usize>> {
    let mut pods = Vec::new();
    for client in clients {
        pods.push(client.visit(site.sluice.http(), algorithm).await?);
    }
    Ok(pods)
}

fn count(visits: &[usize]) -> Vec<u64> {
    (0..6)
        .map(|pod| visits.iter().filter(|visited| **visited == pod).count() as u64)
        .collect()
}

/// The share of a new pod, by seconds since it came.
pub(crate) struct SlowStart {
    pub(crate) title: &'static str,
    pub(crate) shares: Vec<(f64, f64)>,
}

/// Seconds of the slow start, and of the run.
pub(crate) const WINDOW: u32 = 10;
pub(crate) const SECONDS: u32 = 14;

/// Three pods become four.
pub(crate) async fn slow_start() -> Result<Vec<SlowStart>> {
    const SLOW: (&str, &str) = ("sluice.dev/slow-start", "10");
    const ALGORITHMS: [Algorithm; 3] = [
        Algorithm {
            title: "round_robin",
            annotations: &[],
        },
        Algorithm {
            title: "round_robin, slow start",
            annotations: &[SLOW],
        },
        Algorithm {
            title: "hash, slow start",
            annotations: &[HASH, SLOW],
        },
    ];
    const NEW: &str = "web-3";
    let site = Site::start(4, 3, &ALGORITHMS).await?;
    let loads: Vec<Running> = ALGORITHMS
        .iter()
        .map(|algorithm| paced(&site, *algorithm))
        .collect();
    loads[0].until("traffic", |tally| tally.total() > 0).await?;
    let begin = Instant::now();
    site.scale_up(&ALGORITHMS)?;
    let counts = || {
        loads
            .iter()
            .map(|load| load.tally())
            .map(|tally| (tally.pod(NEW), tally.total()))
    };
    let mut runs: Vec<SlowStart> = ALGORITHMS
        .iter()
        .map(|algorithm| SlowStart {
            title: algorithm.title,
            shares: vec![(0.0, 0.0)],
        })
        .collect();
    let mut before: Vec<(u64, u64)> = counts().collect();
    while begin.elapsed() < Duration::from_secs(SECONDS.into()) {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let now: Vec<(u64, u64)> = counts().collect();
        // What a share was in the middle of its time.
        let at = begin.elapsed().as_secs_f64() - 0.35;
        for ((run, before), now) in runs.iter_mut().zip(&before).zip(&now) {
            run.shares.push((
                at,
                (now.0 - before.0) as f64 / (now.1 - before.1).max(1) as f64,
            ));
        }
        before = now;
    }
    for load in loads {
        let tally = load.stop().await?;
        ensure!(tally.failed() == 0, "{tally}");
    }
    site.sluice.stop()?;
    Ok(runs)
}

fn paced(site: &Site, algorithm: Algorithm) -> Running {
    let requests = (0..2000)
        .map(|n| Request::get(&algorithm.host(), &format!("/{n}")))
        .collect();
    Load::of(site.sluice.http(), requests)
        .connections(2)
        .pause(Duration::from_millis(2))
        .start()
}
