//! Spans of nginx's requests: read from its log, sent to the operator's collector by OTLP over gRPC.
//!
//! ```text
//!   nginx --spans.log--> take: line -> Span --> queue (bounded) --> export: batches --OTLP--> collector
//!                                                 \--> dropped, and counted, when it is full
//! ```
//!
//! Nothing here is waited for by a request. While the collector does not answer, spans wait in the queue, and beyond
//! `otel-max-queuesize` they are dropped. Envoy sends its spans itself.

mod export;
mod line;
mod queue;

use std::sync::Arc;
use std::time::Duration;

use sluice_ir::Tracing;
use tokio::time::Instant;
use tracing::{info, warn};

use export::{Exporter, Failure};
use queue::Queue;

/// Spans of one message. A collector takes 4 MiB by default, and a span is of some kilobytes at most.
const BATCH: usize = 512;
/// Longest wait of a reader for room while the collector answers.
const ROOM_TIMEOUT: Duration = Duration::from_millis(250);
/// Pause after a failure; it doubles while failures go on.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Outcome of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The collector has taken it.
    Sent,
    /// The queue was full, the collector refused it, or its line could not be read.
    Dropped,
}

/// The spans on their way. A handle, cheap to clone.
#[derive(Clone)]
pub struct Traces(Arc<Inner>);

struct Inner {
    /// The operator's settings at the moment; `None` without a collector.
    settings: Box<dyn Fn() -> Option<Tracing> + Send + Sync>,
    count: Box<dyn Fn(Outcome, usize) + Send + Sync>,
    queue: Queue,
}

impl Traces {
    /// Empty.
    pub fn new(
        settings: impl Fn() -> Option<Tracing> + Send + Sync + 'static,
        count: impl Fn(Outcome, usize) + Send + Sync + 'static,
    ) -> Self {
        Traces(Arc::new(Inner {
            settings: Box::new(settings),
            count: Box::new(count),
            queue: Queue::default(),
        }))
    }

    /// Takes lines of nginx's log. Waits a moment for room, so that many lines at once are not lost to a collector that is fast
    /// enough.
    pub async fn take(&self, lines: &[u8]) {
        let Inner {
            settings,
            count,
            queue,
        } = &*self.0;
        let Some(tracing) = settings() else {
            return;
        };
        let most = usize::try_from(tracing.max_queue_size).unwrap_or(usize::MAX);
        let deadline = Instant::now() + ROOM_TIMEOUT;
        let mut dropped = 0;
        for line in lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let has_room = queue.has_room(most) || queue.wait_for_room(most, deadline).await;
            match line::span(line).filter(|_| has_room) {
                Some(span) => queue.push(span),
                None => dropped += 1,
            }
        }
        queue.wake();
        if dropped > 0 {
            count(Outcome::Dropped, dropped);
        }
    }

    /// Sends spans for as long as it is polled.
    pub async fn export(self) {
        let Inner {
            settings, queue, ..
        } = &*self.0;
        let mut exporter = Exporter::default();
        let mut pause = FIRST_PAUSE;
        loop {
            queue.wait().await;
            let Some(tracing) = settings() else {
                queue.clear();
                continue;
            };
            let batch = queue.begin(BATCH);
            let size = batch.len();
            let sent = exporter.send(&tracing, &batch).await;
            let collector = &tracing.collector;
            match sent {
                Ok(rejected) => {
                    if queue.succeeded() {
                        info!("traces: {} takes spans again", collector.host);
                    }
                    self.count(Outcome::Sent, size.saturating_sub(rejected));
                    self.count(Outcome::Dropped, rejected.min(size));
                    pause = FIRST_PAUSE;
                    continue;
                }
                Err(Failure { reason, may_pass }) => {
                    if may_pass {
                        queue.put_back(batch);
                    } else {
                        self.count(Outcome::Dropped, size);
                    }
                    if queue.failed() {
                        let (host, port) = (&collector.host, collector.port);
                        warn!(
                            "traces: collector {host} port {port}: {reason}; spans wait, and are dropped beyond otel-max-queuesize"
                        );
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn count(&self, outcome: Outcome, spans: usize) {
        if spans > 0 {
            (self.0.count)(outcome, spans);
        }
    }
}

#[cfg(test)]
mod tests;
