//! Clients at work: each as fast as it is answered, or all together at a fixed rate.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sluice_tests::latency::Latencies;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::Protocol;
use super::client::Client;
use super::proxy::Running;

/// Connected clients.
pub(crate) struct Load(Vec<Client>);

impl Load {
    pub(crate) async fn open(
        protocol: Protocol,
        running: &Running,
        clients: usize,
    ) -> Result<Load> {
        Client::open(protocol, running, clients).await.map(Load)
    }

    /// A closed loop: how many requests were answered in this time.
    pub(crate) async fn as_fast_as_it_goes(&mut self, time: Duration) -> Result<u64> {
        let end = Instant::now() + time;
        let mut workers = JoinSet::new();
        for mut client in self.0.drain(..) {
            workers.spawn(async move {
                let mut count = 0;
                while Instant::now() < end {
                    client.exchange().await?;
                    count += 1;
                }
                anyhow::Ok((client, count))
            });
        }
        let mut total = 0;
        while let Some(worker) = workers.join_next().await {
            let (client, count) = worker.context("a client")??;
            self.0.push(client);
            total += count;
        }
        Ok(total)
    }

    /// An open loop: a request is due at its time, whatever became of those before it, and its latency counts from then. So a
    /// stall is seen by all that would have come in it ("coordinated omission").
    pub(crate) async fn at_rate(&mut self, rate: u32, time: Duration) -> Result<Latencies> {
        let (due, requests) = mpsc::unbounded_channel();
        let requests = Arc::new(Mutex::new(requests));
        let mut workers = JoinSet::new();
        for mut client in self.0.drain(..) {
            let requests = Arc::clone(&requests);
            workers.spawn(async move {
                let mut latencies = Vec::new();
                loop {
                    let next: Option<Instant> = requests.lock().await.recv().await;
                    let Some(due) = next else { break };
                    client.exchange().await?;
                    latencies.push(due.elapsed());
                }
                anyhow::Ok((client, latencies))
            });
        }
        // Tokio's timers are no finer than a millisecond.
        let clock = thread::spawn(move || announce(&due, rate, time));
        let mut all = Latencies::default();
        while let Some(worker) = workers.join_next().await {
            let (client, latencies) = worker.context("a client")??;
            self.0.push(client);
            latencies.into_iter().for_each(|it| all.record(it));
        }
        clock
            .join()
            .map_err(|_| anyhow::anyhow!("the clock of the load"))?;
        Ok(all)
    }
}

/// Says when each request is due, at that time.
fn announce(due: &mpsc::UnboundedSender<Instant>, rate: u32, time: Duration) {
    let start = Instant::now();
    let count = u64::from(rate) * time.as_secs();
    for n in 0..count {
        let at = start + Duration::from_nanos(n * 1_000_000_000 / u64::from(rate));
        thread::sleep(at.saturating_duration_since(Instant::now()));
        // Nobody is left when all clients have failed, and each of them says why.
        if due.send(at).is_err() {
            return;
        }
    }
}
